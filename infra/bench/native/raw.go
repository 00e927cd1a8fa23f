package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
)

// runPut stores objects of random bytes, all different unless they have a checksum, under keys that are counted from 0.
func runPut(s *spec) (*result, error) {
	return loopOf(s).run(func(int) (work, error) {
		c, sign, err := connectSigned(s.Store, "s3")
		if err != nil {
			return nil, err
		}
		body := make([]byte, s.Bytes)
		if _, err := rand.Read(body); err != nil {
			return nil, err
		}
		checksum := ""
		if s.Checksum {
			sum := sha256.Sum256(body)
			checksum = base64.StdEncoding.EncodeToString(sum[:])
		}
		return func(n int64) (int64, error) {
			if !s.Checksum {
				binary.LittleEndian.PutUint64(body, uint64(n))
			}
			request := signedRequest{method: "PUT", path: objectPath(s, n), payload: unsignedPayload, checksum: checksum, length: len(body)}
			_, _, err := c.do(sign.head(request), body, io.Discard)
			return int64(len(body)), err
		}, nil
	})
}

// runGet reads objects that runPut has stored: each once, or for a time, in turn.
func runGet(s *spec) (*result, error) {
	l := loopOf(s)
	if s.Seconds > 0 {
		l.count = 0
	}
	return l.run(func(int) (work, error) {
		c, sign, err := connectSigned(s.Store, "s3")
		if err != nil {
			return nil, err
		}
		return func(n int64) (int64, error) {
			_, bytes, err := c.do(sign.head(signedRequest{method: "GET", path: objectPath(s, n%s.Count), payload: unsignedPayload}), nil, io.Discard)
			if err == nil && bytes != int64(s.Bytes) {
				err = fmt.Errorf("an object of %d bytes came with %d", s.Bytes, bytes)
			}
			return bytes, err
		}, nil
	})
}

// runUpdate changes one item under a condition that holds, and asks for the whole item, as a commit does.
func runUpdate(s *spec) (*result, error) {
	return loopOf(s).run(func(int) (work, error) {
		c, sign, err := connectSigned(s.Table, "dynamodb")
		if err != nil {
			return nil, err
		}
		return func(n int64) (int64, error) {
			body := fmt.Appendf(nil, `{"TableName":%q,"Key":{"pk":{"S":"bench"},"sk":{"S":"head"}},`+
				`"UpdateExpression":"SET #t = #t + :n, #o = :o","ConditionExpression":"#s = :s",`+
				`"ExpressionAttributeNames":{"#t":"tail","#o":"object","#s":"state"},`+
				`"ExpressionAttributeValues":{":n":{"N":"1"},":o":{"S":"object-%d"},":s":{"S":"open"}},"ReturnValues":"ALL_NEW"}`, s.Table.Table, n)
			sum := sha256.Sum256(body)
			const more = "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.UpdateItem\r\n"
			head := sign.head(signedRequest{method: "POST", path: "/", payload: hex.EncodeToString(sum[:]), more: more, length: len(body)})
			_, _, err := c.do(head, body, io.Discard)
			return int64(len(body)), err
		}, nil
	})
}

func connectSigned(to address, service string) (*connection, *signer, error) {
	c, u, err := connect(to.Endpoint)
	if err != nil {
		return nil, nil, err
	}
	return c, &signer{host: u.Host, service: service, address: to}, nil
}

func objectPath(s *spec, n int64) string {
	return fmt.Sprintf("/%s/%s/%010d", s.Store.Bucket, s.Prefix, n)
}
