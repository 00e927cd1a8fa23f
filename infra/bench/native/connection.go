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

// do sends one request, copies the answer's body to sink, and fails on any status but 200, 201 and 206.
func (c *connection) do(head, body []byte, sink io.Writer) (http.Header, int64, error) {
	return c.doParts(head, [][]byte{body}, sink)
}

// doParts sends a body in parts, one after the other.
func (c *connection) doParts(head []byte, parts [][]byte, sink io.Writer) (http.Header, int64, error) {
	response, err := c.open(head, parts...)
	if err != nil {
		return nil, 0, err
	}
	if !isTaken(response.StatusCode) {
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

func isTaken(status int) bool {
	return status == http.StatusOK || status == http.StatusCreated || status == http.StatusPartialContent
}

// open sends one request and answers as soon as the answer's headers are there.
func (c *connection) open(head []byte, parts ...[]byte) (*http.Response, error) {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.host)
		if err != nil {
			return nil, err
		}
		c.conn = conn
		c.reader = bufio.NewReaderSize(conn, bufferBytes)
	}
	// One system call for all, without a copy of the body.
	c.buffers = append(append(c.buffers[:0], head), parts...)
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
