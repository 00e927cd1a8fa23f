package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"
)

const nextOffsetHeader = "Kelp-Next-Offset"
const nextOffsetMember = `"nextOffset":`

// runPost publishes the bodies one after the other; client i to target i, modulo their number.
func runPost(s *spec) (*result, error) {
	bodies, err := readBodies(s)
	if err != nil {
		return nil, err
	}
	return loopOf(s).run(func(client int) (work, error) { return poster(s, client, bodies) })
}

func readBodies(s *spec) ([][]byte, error) {
	bodies := make([][]byte, len(s.Bodies))
	for i, file := range s.Bodies {
		body, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		bodies[i] = body
	}
	return bodies, nil
}

func poster(s *spec, client int, bodies [][]byte) (work, error) {
	c, u, err := connect(s.Targets[client%len(s.Targets)])
	if err != nil {
		return nil, err
	}
	var head []byte
	return func(n int64) (int64, error) {
		body := bodies[n%int64(len(bodies))]
		head = append(append(head[:0], "POST "...), u.Path...)
		if s.Keyed {
			head = strconv.AppendInt(append(head, "?key="...), n, 10)
		}
		head = fmt.Appendf(head, " HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
			u.Host, s.Token, s.ContentType, len(body))
		_, _, err := c.do(head, body, io.Discard)
		return int64(len(body)), err
	}, nil
}

// runRead reads all shares to their ends, as many at a time as there are clients.
func runRead(s *spec) (*result, error) {
	l := loop{clients: s.Clients, count: int64(len(s.Shares))}
	latencies := make([][]time.Duration, s.Clients)
	r, err := l.run(func(client int) (work, error) {
		return func(n int64) (int64, error) {
			return readShare(s, s.Shares[n], func(took time.Duration) { latencies[client] = append(latencies[client], took) })
		}, nil
	})
	if err != nil {
		return nil, err
	}
	// The loop's work was a share; what is told is about requests.
	all := slices.Concat(latencies...)
	r.Requests = int64(len(all))
	r.P50Ms, r.P99Ms = percentiles(all)
	return r, nil
}

func readShare(s *spec, part share, answered func(took time.Duration)) (total int64, err error) {
	if s.Accept == referencesMedia {
		return readByReference(s, part, answered)
	}
	c, u, err := connect(part.URL)
	if err != nil {
		return 0, err
	}
	defer c.close()
	var text bytes.Buffer
	for at := part.From; at < part.To; {
		head := fmt.Appendf(nil, "GET %s?offset=%d&limit=10000&maxBytes=16777216 HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: %s\r\n\r\n",
			u.Path, at, u.Host, s.Token, s.Accept)
		text.Reset()
		begin := time.Now()
		header, n, err := c.do(head, nil, &text)
		if err != nil {
			return total, err
		}
		answered(time.Since(begin))
		next, err := nextOffset(header.Get(nextOffsetHeader), text.Bytes())
		if err != nil {
			return total, err
		}
		if next <= at {
			return total, fmt.Errorf("no way on from offset %d of %s", at, u)
		}
		total += n
		at = next
	}
	return total, nil
}

// nextOffset is in a header, but for JSON, where it stands behind the messages.
func nextOffset(header string, text []byte) (int64, error) {
	if header != "" {
		return strconv.ParseInt(header, 10, 64)
	}
	from := bytes.LastIndex(text, []byte(nextOffsetMember))
	if from < 0 {
		return 0, fmt.Errorf("the answer has no next offset")
	}
	digits := text[from+len(nextOffsetMember):]
	return strconv.ParseInt(string(digits[:bytes.IndexAny(digits, ",}")]), 10, 64)
}
