package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

const bufferBytes = 1 << 16
const errorBytesMax = 300

// connection is one client's, kept open from request to request.
type connection struct {
	host    string
	conn    net.Conn
	reader  *bufio.Reader
	buffers net.Buffers
}

func connect(endpoint string) (*connection, *url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, nil, err
	}
	return &connection{host: u.Host}, u, nil
}

// do sends one request, copies the answer's body to sink, and fails on any status but 200 and 206.
func (c *connection) do(head, body []byte, sink io.Writer) (http.Header, int64, error) {
	response, err := c.open(head, body)
	if err != nil {
		return nil, 0, err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusPartialContent {
		var text bytes.Buffer
		_, _ = io.Copy(&text, io.LimitReader(response.Body, errorBytesMax))
		c.close()
		return nil, 0, fmt.Errorf("%s %s", response.Status, text.String())
	}
	n, err := io.Copy(sink, response.Body)
	if err != nil || response.Close {
		c.close()
	}
	return response.Header, n, err
}

// open sends one request and answers as soon as the answer's headers are there.
func (c *connection) open(head, body []byte) (*http.Response, error) {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.host)
		if err != nil {
			return nil, err
		}
		c.conn = conn
		c.reader = bufio.NewReaderSize(conn, bufferBytes)
	}
	// One system call for both, without a copy of the body.
	c.buffers = append(c.buffers[:0], head, body)
	buffers := c.buffers
	if _, err := buffers.WriteTo(c.conn); err != nil {
		c.close()
		return nil, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		c.close()
	}
	return response, err
}

func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}
