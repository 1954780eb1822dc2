package cors_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"testing"
	"time"

	"github.com/berthd/berth/server/wire/cors"
)

// serve runs the middleware in a real server, for behavior that a recorder does not show.
func serve(t *testing.T, next http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(cors.Wrap(next, only(known)))
	t.Cleanup(server.Close)
	return server
}

func send(t *testing.T, server *httptest.Server, method string, trace *httptrace.ClientTrace) (*http.Response, error) {
	t.Helper()
	ctx := httptrace.WithClientTrace(t.Context(), trace)
	r, err := http.NewRequestWithContext(ctx, method, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", known)
	r.Header.Set("Access-Control-Request-Method", "GET")
	return server.Client().Do(r)
}

func TestCORS_Flush_SendsHeadersFirst(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("Flush: %v", err)
		}
		<-seen
		_, _ = io.WriteString(w, "later")
	})
	answer, err := send(t, server, http.MethodGet, &httptrace.ClientTrace{})
	close(seen)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if origin := answer.Header.Get("Access-Control-Allow-Origin"); origin != known || string(body) != "later" || err != nil {
		t.Errorf("origin = %q, body = %q, err = %v", origin, body, err)
	}
}

func TestCORS_FlushedPreflightError_BecomesEmpty200(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "7")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "refused")
		w.WriteHeader(http.StatusTeapot)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("Flush: %v", err)
		}
	})
	answer, err := send(t, server, http.MethodOptions, &httptrace.ClientTrace{})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK || len(body) != 0 || err != nil {
		t.Errorf("got %d, body %q, %v", answer.StatusCode, body, err)
	}
}

func TestCORS_InformationalResponse_PassedThrough(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNotFound)
	})
	var hints []int
	answer, err := send(t, server, http.MethodGet, &httptrace.ClientTrace{
		Got1xxResponse: func(status int, _ textproto.MIMEHeader) error {
			hints = append(hints, status)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if len(hints) != 1 || hints[0] != http.StatusEarlyHints || answer.StatusCode != http.StatusNotFound ||
		answer.Header.Get("Access-Control-Allow-Origin") != known {
		t.Errorf("hints = %v, then status = %d with %v", hints, answer.StatusCode, answer.Header)
	}
}

func TestCORS_HandlerAborts_ResponseAborted(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	})
	answer, err := send(t, server, http.MethodGet, &httptrace.ClientTrace{})
	if err == nil {
		defer answer.Body.Close()
		_, err = io.ReadAll(answer.Body)
	}
	if err == nil {
		t.Error("the response ended without an error")
	}
}

func TestCORS_ResponseController_ReachesConnection(t *testing.T) {
	t.Parallel()
	result := make(chan error, 1)
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		result <- http.NewResponseController(w).SetWriteDeadline(time.Time{})
	})
	answer, err := send(t, server, http.MethodGet, &httptrace.ClientTrace{})
	if err = errors.Join(err, <-result); err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}
