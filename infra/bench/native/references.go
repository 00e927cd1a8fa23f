package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

const referencesMedia = "application/vnd.kelp.references+json"

// referencesPage is as much as a reader needs of one.
type referencesPage struct {
	References []struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
		Bytes   int64             `json:"bytes"`
	} `json:"references"`
	NextOffset int64 `json:"nextOffset"`
}

// readByReference asks where a share's batches lie, and gets them from the store.
func readByReference(s *spec, part share, answered func(took time.Duration)) (total int64, err error) {
	broker, u, err := connect(part.URL)
	if err != nil {
		return 0, err
	}
	defer broker.close()
	var store *connection
	defer func() {
		if store != nil {
			store.close()
		}
	}()
	var text bytes.Buffer
	for at := part.From; at < part.To; {
		head := fmt.Appendf(nil, "GET %s?offset=%d&limit=%d HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: %s\r\n\r\n",
			u.Path, at, min(part.To-at, 1_000_000), u.Host, s.Token, s.Accept)
		text.Reset()
		begin := time.Now()
		if _, _, err := broker.do(head, nil, &text); err != nil {
			return total, err
		}
		answered(time.Since(begin))
		var page referencesPage
		if err := json.Unmarshal(text.Bytes(), &page); err != nil {
			return total, err
		}
		for _, reference := range page.References {
			var request []byte
			if request, store, err = presignedHead(store, reference.Method, reference.URL, reference.Headers); err != nil {
				return total, err
			}
			begin := time.Now()
			_, n, err := store.do(request, nil, io.Discard)
			if err == nil && n != reference.Bytes {
				err = fmt.Errorf("%d bytes came of %d", n, reference.Bytes)
			}
			if err != nil {
				return total, err
			}
			answered(time.Since(begin))
			total += n
		}
		if page.NextOffset <= at {
			return total, fmt.Errorf("no way on from offset %d of %s", at, u)
		}
		at = page.NextOffset
	}
	return total, nil
}
