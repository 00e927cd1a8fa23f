package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

const unsignedPayload = "UNSIGNED-PAYLOAD"

// signer makes the heads of requests that are signed as AWS Signature Version 4 has it.
type signer struct {
	host    string
	service string
	address address
	date    string
	key     []byte
}

type signedRequest struct {
	method string
	path   string
	// Hexadecimal SHA-256 of the body, or unsignedPayload.
	payload string
	// Lines of headers that are not signed, each ended.
	more   string
	length int
	// Base64 SHA-256 of the body, which the store is to hold it against; empty: none.
	checksum string
}

func (s *signer) head(r signedRequest) []byte {
	now := time.Now().UTC()
	date, stamp := now.Format("20060102"), now.Format("20060102T150405Z")
	if date != s.date {
		s.date, s.key = date, s.deriveKey(date)
	}
	scope := date + "/" + s.address.Region + "/" + s.service + "/aws4_request"
	names, checksum, more := "host;x-amz-content-sha256;x-amz-date", "", r.more
	if r.checksum != "" {
		names = "host;x-amz-checksum-sha256;x-amz-content-sha256;x-amz-date"
		checksum = "\nx-amz-checksum-sha256:" + r.checksum
		more += "X-Amz-Checksum-Sha256: " + r.checksum + "\r\n"
	}
	canonical := r.method + "\n" + r.path + "\n\nhost:" + s.host + checksum + "\nx-amz-content-sha256:" + r.payload + "\nx-amz-date:" + stamp +
		"\n\n" + names + "\n" + r.payload
	sum := sha256.Sum256([]byte(canonical))
	signature := hash(s.key, "AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+hex.EncodeToString(sum[:]))
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nX-Amz-Content-Sha256: %s\r\nX-Amz-Date: %s\r\n"+
		"Authorization: AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x\r\n%sContent-Length: %d\r\n\r\n",
		r.method, r.path, s.host, r.payload, stamp, s.address.AccessKey, scope, names, signature, more, r.length)
}

func (s *signer) deriveKey(date string) []byte {
	key := hash([]byte("AWS4"+s.address.SecretKey), date)
	return hash(hash(hash(key, s.address.Region), s.service), "aws4_request")
}

func hash(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
