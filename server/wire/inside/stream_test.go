package inside_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthd/berth/server/wire/inside"
)

var quiet = slog.New(slog.DiscardHandler)

// testTimeout is much longer than any operation of these tests takes.
const testTimeout = 20 * time.Second

// wait fails the test if an event does not happen within testTimeout.
func wait(t *testing.T, what string, happens <-chan struct{}) {
	t.Helper()
	select {
	case <-happens:
	case <-time.After(testTimeout):
		t.Fatalf("%s: not within %s", what, testTimeout)
	}
}

// ask sends a GET through a transport to a handler.
func ask(ctx context.Context, t *testing.T, handler http.HandlerFunc) (*http.Response, error) {
	t.Helper()
	transport := inside.Serve(handler, quiet)
	t.Cleanup(func() { _ = transport.Close() })
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, inside.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	return transport.RoundTrip(r)
}

func TestInProcess_EndlessResponse_Backpressured(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	ended := make(chan struct{})
	answer, err := ask(t.Context(), t, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for line := bytes.Repeat([]byte("x"), 1000); r.Context().Err() == nil; {
			n, _ := w.Write(line)
			written.Add(int64(n))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	const read, ahead = 1 << 20, 64 << 10
	if _, err := io.CopyN(io.Discard, answer.Body, read); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // gives a handler that runs ahead time to write
	if got := written.Load(); got > read+ahead {
		t.Errorf("%d bytes were written after %d were read", got, read)
	}
	_ = answer.Body.Close()
	wait(t, "the handler ends after its client has left", ended)
}

func TestInProcess_RequestCanceled_CancelsHandler(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	_, err := ask(ctx, t, func(_ http.ResponseWriter, r *http.Request) {
		defer close(ended)
		cancel()
		<-r.Context().Done()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	wait(t, "the handler ends", ended)
}

type secret struct{}

func TestInProcess_ContextValues_NotPassedToHandler(t *testing.T) {
	t.Parallel()
	var found any
	answer, err := ask(context.WithValue(t.Context(), secret{}, "x"), t, func(_ http.ResponseWriter, r *http.Request) {
		found = r.Context().Value(secret{})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || found != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestInProcess_HandlerAborts_ReaderGetsError(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]any{"aborted": http.ErrAbortHandler, "panicked": "a mistake"} {
		answer, err := ask(t.Context(), t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "[1, ")
			_ = http.NewResponseController(w).Flush()
			panic(cut)
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if body, err := io.ReadAll(answer.Body); !errors.Is(err, io.ErrUnexpectedEOF) || string(body) != "[1, " {
			t.Errorf("%s after the first byte: %q, %v", name, body, err)
		}
		if _, err := ask(t.Context(), t, func(http.ResponseWriter, *http.Request) { panic(cut) }); !errors.Is(err, io.EOF) {
			t.Errorf("%s before the first byte: %v", name, err)
		}
		_ = answer.Body.Close()
	}
}

func TestInProcess_Request_EqualsSocketRequest(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body string
	transport := inside.Serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		text, _ := io.ReadAll(r.Body)
		body = string(text)
	}), quiet)
	t.Cleanup(func() { _ = transport.Close() })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://host.example/a%2Fb?q=1;2#f", strings.NewReader("text"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header["x-lower"] = []string{"1", "2"}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	switch {
	case got.Host != "host.example", got.RequestURI != "/a%2Fb?q=1;2", got.URL.Path != "/a/b", got.URL.RawPath != "/a%2Fb", got.URL.Host != "",
		got.RemoteAddr == "", got.ContentLength != 4, body != "text", strings.Join(got.Header["X-Lower"], ",") != "1,2", answer.Header.Get("Date") == "":
		t.Errorf("received %+v with %q", got, body)
	}
}
