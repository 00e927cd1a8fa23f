package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The value of message n begins with n in so many digits, by which the reader knows it.
const indexDigits = 12

// latenessMax is how long the reader waits for what is still on its way when the last publish is answered.
const latenessMax = 5 * time.Second
const eventBytesMax = 1 << 20

var dataPrefix = []byte("data: ")
var textMember = []byte(`"text":"`)

// runLatency publishes one message a request at a steady rate while a reader waits for them on a stream.
func runLatency(s *spec) (*result, error) {
	total := int(s.PerSecond * s.Seconds)
	reader := &streamReader{due: make([]time.Time, total), latencies: make([]time.Duration, total), left: total, done: make(chan struct{})}
	c, stream, err := openStream(s)
	if err != nil {
		return nil, err
	}
	// Closing the body would wait for its end, which never comes.
	defer c.close()
	go reader.follow(stream)
	l := loopOf(s)
	l.count = int64(total)
	l.due = reader.expect
	r, err := l.run(func(client int) (work, error) { return messagePoster(s, client) })
	if err != nil {
		return nil, err
	}
	select {
	case <-reader.done:
	case <-time.After(latenessMax):
	}
	r.EndToEndP50Ms, r.EndToEndP99Ms, err = reader.percentiles()
	return r, err
}

// openStream answers once the broker has said what comes from now on.
func openStream(s *spec) (*connection, *http.Response, error) {
	c, u, err := connect(s.Stream)
	if err != nil {
		return nil, nil, err
	}
	head := fmt.Appendf(nil, "GET %s?from=latest HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n",
		u.Path, u.Host, s.Token)
	response, err := c.open(head, nil)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the stream: %s", response.Status)
	}
	if err != nil {
		return nil, nil, err
	}
	// The first comment: the reader is at the tail.
	if _, err := response.Body.Read(make([]byte, 1)); err != nil {
		return nil, nil, err
	}
	return c, response, nil
}

func messagePoster(s *spec, client int) (work, error) {
	random := make([]byte, s.Bytes)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	text := []byte(base64.StdEncoding.EncodeToString(random))[:s.Bytes]
	post, err := poster(s, client, [][]byte{text})
	if err != nil {
		return nil, err
	}
	return func(n int64) (int64, error) {
		copy(text, fmt.Appendf(nil, "%0*d", indexDigits, n))
		return post(n)
	}, nil
}

// streamReader measures from when a message was due to when its event has arrived.
type streamReader struct {
	lock      sync.Mutex
	due       []time.Time
	latencies []time.Duration
	left      int
	done      chan struct{}
}

func (r *streamReader) expect(n int64, at time.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.due[n] = at
}

func (r *streamReader) follow(stream *http.Response) {
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, eventBytesMax)
	for lines.Scan() {
		if n, ok := messageIndex(lines.Bytes()); ok {
			r.arrived(n, time.Now())
		}
	}
}

func (r *streamReader) arrived(n int, now time.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if n >= len(r.due) || r.due[n].IsZero() || r.latencies[n] != 0 {
		return
	}
	r.latencies[n] = now.Sub(r.due[n])
	if r.left--; r.left == 0 {
		close(r.done)
	}
}

func (r *streamReader) percentiles() (p50, p99 float64, err error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.left > 0 {
		return 0, 0, fmt.Errorf("%d of %d messages did not reach the reader", r.left, len(r.due))
	}
	p50, p99 = percentiles(r.latencies)
	return p50, p99, nil
}

func messageIndex(line []byte) (int, bool) {
	if !bytes.HasPrefix(line, dataPrefix) {
		return 0, false
	}
	from := bytes.Index(line, textMember) + len(textMember)
	if from < len(textMember) || from+indexDigits > len(line) {
		return 0, false
	}
	n, err := strconv.Atoi(string(line[from : from+indexDigits]))
	return n, err == nil
}
