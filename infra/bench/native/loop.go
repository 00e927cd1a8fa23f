package main

import (
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Failed requests after which a load ends: something is wrong, and what it measures is worth nothing.
const errorsMax = 100

// errorPause keeps a server that refuses everything from being asked as fast as it can refuse.
const errorPause = 10 * time.Millisecond

type result struct {
	Requests   int64   `json:"requests"`
	Errors     int64   `json:"errors"`
	FirstError string  `json:"firstError,omitempty"`
	Bytes      int64   `json:"bytes"`
	Seconds    float64 `json:"seconds"`
	P50Ms      float64 `json:"p50Ms"`
	P99Ms      float64 `json:"p99Ms"`
	CPUSeconds float64 `json:"cpuSeconds"`
	// Of a reader that waits for what is published.
	EndToEndP50Ms float64 `json:"endToEndP50Ms,omitempty"`
	EndToEndP99Ms float64 `json:"endToEndP99Ms,omitempty"`
}

// work does request number n on behalf of one client and answers with the bytes that it moved.
type work func(n int64) (int64, error)

type loop struct {
	clients   int
	seconds   float64
	perSecond float64
	// Requests after which it ends; 0: none.
	count int64
	// Told when request n is due, before it is made.
	due func(n int64, at time.Time)
}

func loopOf(s *spec) loop {
	return loop{clients: s.Clients, seconds: s.Seconds, perSecond: s.PerSecond, count: s.Count}
}

type measured struct {
	latencies []time.Duration
	bytes     int64
}

// run lets each client work until the time is over or all requests are made. The clock stops with the last answer.
func (l loop) run(newClient func(client int) (work, error)) (*result, error) {
	works := make([]work, l.clients)
	for client := range works {
		w, err := newClient(client)
		if err != nil {
			return nil, err
		}
		works[client] = w
	}
	parts := make([]measured, l.clients)
	var next, errors atomic.Int64
	var firstError atomic.Value
	var wait sync.WaitGroup
	cpu := cpuSeconds()
	start := time.Now()
	end := start.Add(time.Duration(l.seconds * float64(time.Second)))
	for client := range works {
		wait.Go(func() {
			for errors.Load() < errorsMax {
				n := next.Add(1) - 1
				if l.count > 0 && n >= l.count {
					return
				}
				begin, ok := l.begin(n, start, end)
				if !ok {
					return
				}
				bytes, err := works[client](n)
				if err != nil {
					errors.Add(1)
					firstError.CompareAndSwap(nil, err.Error())
					time.Sleep(errorPause)
					continue
				}
				parts[client].latencies = append(parts[client].latencies, time.Since(begin))
				parts[client].bytes += bytes
			}
		})
	}
	wait.Wait()
	r := summarize(parts, time.Since(start))
	r.CPUSeconds = cpuSeconds() - cpu
	r.Errors = errors.Load()
	r.FirstError, _ = firstError.Load().(string)
	if r.Errors >= errorsMax || r.Requests == 0 {
		return nil, fmt.Errorf("%d requests failed, the first with: %s", r.Errors, r.FirstError)
	}
	return r, nil
}

// begin waits until request n is due and answers with the time from which its latency counts; false when the time is over.
func (l loop) begin(n int64, start, end time.Time) (time.Time, bool) {
	if l.perSecond == 0 {
		now := time.Now()
		return now, l.seconds == 0 || now.Before(end)
	}
	due := start.Add(time.Duration(float64(n) / l.perSecond * float64(time.Second)))
	if !due.Before(end) {
		return due, false
	}
	time.Sleep(time.Until(due))
	if l.due != nil {
		l.due(n, due)
	}
	return due, true
}

func summarize(parts []measured, elapsed time.Duration) *result {
	r := &result{Seconds: elapsed.Seconds()}
	var all []time.Duration
	for _, part := range parts {
		all = append(all, part.latencies...)
		r.Bytes += part.bytes
	}
	r.Requests = int64(len(all))
	r.P50Ms, r.P99Ms = percentiles(all)
	return r
}

func percentiles(all []time.Duration) (p50, p99 float64) {
	if len(all) == 0 {
		return 0, 0
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	at := func(part float64) float64 {
		return float64(all[int(part*float64(len(all)-1))].Nanoseconds()) / 1e6
	}
	return at(0.5), at(0.99)
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return seconds(usage.Utime) + seconds(usage.Stime)
}

func seconds(t syscall.Timeval) float64 {
	return float64(t.Sec) + float64(t.Usec)/1e6
}
