package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
)

// uploadMark stands in an envelope where the upload's id belongs.
const uploadMark = "@upload@"

// payload is what is uploaded: a file, so many times one after the other; and what publishes it then.
type payload struct {
	File     string `json:"file"`
	Repeat   int    `json:"repeat"`
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
	Envelope string `json:"envelope"`
}

// loaded is a payload in memory, cut where the id goes.
type loaded struct {
	announcement []byte
	parts        [][]byte
	bytes        int64
	before       string
	behind       string
}

// granted is how one upload is sent.
type granted struct {
	Upload  string            `json:"upload"`
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
}

// runSubmit uploads the payloads in turn, each to the store itself, and publishes its id.
func runSubmit(s *spec) (*result, error) {
	payloads := make([]loaded, len(s.Payloads))
	for i, p := range s.Payloads {
		l, err := load(p)
		if err != nil {
			return nil, err
		}
		payloads[i] = l
	}
	return loopOf(s).run(func(int) (work, error) { return submitter(s, payloads) })
}

func load(p payload) (loaded, error) {
	body, err := os.ReadFile(p.File)
	if err != nil {
		return loaded{}, err
	}
	envelope, err := os.ReadFile(p.Envelope)
	if err != nil {
		return loaded{}, err
	}
	before, behind, found := strings.Cut(string(envelope), uploadMark)
	if !found {
		return loaded{}, fmt.Errorf("%s has no place for an id", p.Envelope)
	}
	parts := make([][]byte, p.Repeat)
	for i := range parts {
		parts[i] = body
	}
	return loaded{fmt.Appendf(nil, `{"bytes":%d,"sha256":%q}`, p.Bytes, p.SHA256), parts, p.Bytes, before, behind}, nil
}

func submitter(s *spec, payloads []loaded) (work, error) {
	broker, topic, err := connect(s.Targets[0])
	if err != nil {
		return nil, err
	}
	var store *connection
	post := func(path string, body []byte) ([]byte, error) {
		head := fmt.Appendf(nil, "POST %s%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
			topic.Path, path, topic.Host, s.Token, len(body))
		var text bytes.Buffer
		_, _, err := broker.do(head, body, &text)
		return text.Bytes(), err
	}
	return func(n int64) (int64, error) {
		p := payloads[n%int64(len(payloads))]
		text, err := post("/uploads", p.announcement)
		if err != nil {
			return 0, err
		}
		var g granted
		if err := json.Unmarshal(text, &g); err != nil {
			return 0, err
		}
		if store, err = send(store, g, p.parts); err != nil {
			return 0, err
		}
		_, err = post("/messages", []byte(p.before+g.Upload+p.behind))
		return p.bytes, err
	}, nil
}

// send makes the one request that an upload's URL is good for; answers the connection, for the next one.
func send(c *connection, g granted, parts [][]byte) (*connection, error) {
	head, c, err := presignedHead(c, g.Method, g.URL, g.Headers)
	if err != nil {
		return c, err
	}
	_, _, err = c.doParts(head, parts, io.Discard)
	return c, err
}

// presignedHead connects to where the URL is, unless that is done.
func presignedHead(c *connection, method, text string, headers map[string]string) ([]byte, *connection, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, c, err
	}
	if c == nil {
		c = &connection{host: u.Host}
	}
	head := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, u.RequestURI(), u.Host)
	for name, value := range headers {
		head = fmt.Appendf(head, "%s: %s\r\n", name, value)
	}
	return append(head, "\r\n"...), c, nil
}
