// The bench's load generator: one load, described by JSON on standard input, one line of JSON as its result. It uses the
// standard library only, and speaks HTTP/1.1 over plain connections, so that it leaves the processors to what it measures.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// spec is what infra/bench/load.ts calls Load; see there for what each mode does.
type spec struct {
	Mode    string  `json:"mode"`
	Clients int     `json:"clients"`
	Seconds float64 `json:"seconds"`
	// Requests a second in an open loop, whose latencies count from when a request was due; 0: as fast as answers come.
	PerSecond float64 `json:"perSecond"`

	Store  address `json:"store"`
	Prefix string  `json:"prefix"`
	Bytes  int     `json:"bytes"`
	Count  int64   `json:"count"`
	// With SHA-256, which the store computes again.
	Checksum bool `json:"checksum"`

	Table address `json:"table"`

	Token       string   `json:"token"`
	Targets     []string `json:"targets"`
	ContentType string   `json:"contentType"`
	Bodies      []string `json:"bodies"`
	Keyed       bool     `json:"keyed"`
	Accept      string   `json:"accept"`
	Shares      []share  `json:"shares"`
	Stream      string   `json:"stream"`

	Payloads []payload `json:"payloads"`
}

// address is a store or a table with its credentials.
type address struct {
	Endpoint  string `json:"endpoint"`
	Region    string `json:"region"`
	AccessKey string `json:"accessKey"`
	SecretKey string `json:"secretKey"`
	Bucket    string `json:"bucket"`
	Table     string `json:"table"`
}

// share is a part of a segment that one reader reads.
type share struct {
	URL  string `json:"url"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

func main() {
	var s spec
	if err := json.NewDecoder(os.Stdin).Decode(&s); err != nil {
		fail(err)
	}
	result, err := run(&s)
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(err)
	}
}

func run(s *spec) (*result, error) {
	switch s.Mode {
	case "put":
		return runPut(s)
	case "get":
		return runGet(s)
	case "update":
		return runUpdate(s)
	case "post":
		return runPost(s)
	case "read":
		return runRead(s)
	case "submit":
		return runSubmit(s)
	case "latency":
		return runLatency(s)
	}
	return nil, fmt.Errorf("no such mode: %q", s.Mode)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
