package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// responseTimeout is the maximum wait for one response.
const responseTimeout = time.Minute

// response is what a service sends: the status line and the headers as they are, and the body without its framing.
type response struct {
	status     int
	head, body []byte
}

func (r *response) text() string { return string(r.head) + string(r.body) }

// exchange sends the bytes of one request on a new connection. A connection that breaks is a response too, because both
// builds must break it.
func exchange(ctx context.Context, address string, request []byte) *response {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return &response{body: []byte("cannot connect: " + err.Error())}
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // only a closed connection has no deadline
	}
	// A service may respond before it has read the whole request, and close the connection.
	go func() { _, _ = conn.Write(request) }()
	method, _, _ := bytes.Cut(request, []byte(" "))
	var received bytes.Buffer
	read, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &received)), &http.Request{Method: string(method)})
	if err != nil {
		return &response{body: fmt.Appendf(received.Bytes(), "no response: %T", err)}
	}
	defer read.Body.Close()
	made := &response{status: read.StatusCode}
	if made.body, err = io.ReadAll(read.Body); err != nil {
		made.body = fmt.Appendf(made.body, "\nthe body ends early: %T", err)
	}
	head, _, _ := bytes.Cut(received.Bytes(), []byte("\r\n\r\n"))
	made.head = append(bytes.ReplaceAll(head, []byte("\r\n"), []byte("\n")), "\n\n"...)
	// Times have fewer digits if the last ones are 0, so that the right length may differ.
	length := fmt.Appendf(nil, "\nContent-Length: %d\n", len(made.body))
	made.head = bytes.Replace(made.head, length, []byte("\nContent-Length: LENGTH OF THE BODY\n"), 1)
	return made
}

// send sends a request to both services, and compares the responses. Saved values may differ in the two requests.
func (p *pair) send(ctx context.Context, label string, old, new []byte) (*response, *response, error) {
	var responses [2]*response
	var both sync.WaitGroup
	both.Go(func() { responses[0] = exchange(ctx, p.old.address, old) })
	both.Go(func() { responses[1] = exchange(ctx, p.new.address, new) })
	both.Wait()
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	p.same.sent(string(old), string(new))
	before, after := p.same.pair(responses[0].text(), responses[1].text())
	p.compared(label, string(old), responses[0].status, before, after)
	if bytes.HasPrefix(old, []byte("GET ")) {
		return responses[0], responses[1], nil
	}
	return responses[0], responses[1], p.awaitConductors(ctx)
}
