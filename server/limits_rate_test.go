package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
)

// slowBodies returns a server that requires 1 MiB a second, and has one slot for large bodies.
func slowBodies(t *testing.T) *httptest.Server {
	t.Helper()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.Bodies.Memory, options.Limits = 1, server.Limits{Requests: 2, Queue: 1, Wait: time.Minute, BodyRate: 1 << 20}
	})
	listener := httptest.NewUnstartedServer(s.handler)
	listener.EnableHTTP2 = true
	listener.StartTLS()
	t.Cleanup(listener.Close)
	return listener
}

// largeBody is the size of a body that the server does not read before the request has a slot.
const largeBody = 200 << 10

// post sends a body and returns the status and the text of the response.
func post(ctx context.Context, t *testing.T, to *httptest.Server, body io.Reader) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL+"/allocations", body)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = largeBody
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("OpenStack-API-Version", "placement 1.39")
	answer, err := to.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.ProtoMajor != 2 {
		t.Errorf("protocol = %s", answer.Proto)
	}
	return answer.StatusCode, string(text)
}

// TestLimits_BodySentTooSlowly_EndsTheRequest sends the beginnings of two bodies, and nothing more: one
// over HTTP/1.1, where net/http closes the connection, and one over HTTP/2, which gets a response. Their
// slots are free for the next body.
func TestLimits_BodySentTooSlowly_EndsTheRequest(t *testing.T) {
	t.Parallel()
	listener := slowBodies(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	beginning := bytes.Repeat([]byte(" "), largeBody/2)

	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // a test's own certificate
	conn, err := dialer.DialContext(ctx, "tcp", listener.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST /allocations HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: admin\r\nContent-Type: application/json\r\n"+
		"OpenStack-API-Version: placement 1.39\r\n"+
		"Content-Length: %d\r\n\r\n%s", largeBody, beginning); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	// A reset also ends the connection.
	if answer, err := io.ReadAll(conn); os.IsTimeout(err) {
		t.Errorf("HTTP/1.1: the connection stays open: %v %s", err, answer)
	}

	sent, more := io.Pipe()
	defer more.Close()
	go more.Write(beginning) //nolint:errcheck // ends with the pipe
	status, text := post(ctx, t, listener, sent)
	if status != http.StatusBadRequest || !strings.Contains(text, "slower than 1048576 bytes a second") {
		t.Errorf("HTTP/2: %d %s", status, text)
	}
	if status, text := post(ctx, t, listener, strings.NewReader(strings.Repeat(" ", largeBody))); !strings.Contains(text, "Malformed JSON") {
		t.Errorf("next body: status = %d, %s", status, text)
	}
}
