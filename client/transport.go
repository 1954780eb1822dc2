package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// chain is the transport of a client. It authenticates requests, retries them, and returns completely read responses
// only, except of streams.
type chain struct {
	base   http.RoundTripper
	client *Client
	agent  string
}

// notes are facts about a request in progress, for its errors.
type notes struct {
	method, path string
	// executed is true if the service may have executed an attempt.
	executed bool
}

type notesKey struct{}

// RoundTrip implements http.RoundTripper.
func (c *chain) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	notes, _ := ctx.Value(notesKey{}).(*notes)
	if notes == nil {
		return nil, fmt.Errorf("%s %s did not come from an operation of this package", request.Method, request.URL.Path)
	}
	notes.method, notes.path = request.Method, request.URL.Path
	if request.Body != nil {
		defer request.Body.Close() // each attempt has a copy
	}
	dry := isDryRun(request)
	if dry {
		var err error
		if request, err = dryRunOf(request); err != nil {
			return nil, unsent{err}
		}
	}
	began := c.client.now()
	for attempt := 1; ; attempt++ {
		response, err := c.authenticated(request)
		if c.client.isBeingUpgraded(ctx, response) {
			if again, stopped := c.awaitUpgrade(ctx, began, attempt); stopped != nil {
				return nil, unsent{stopped}
			} else if again {
				continue
			}
		}
		if response != nil && response.StatusCode == http.StatusNotFound && notes.executed && request.Method == http.MethodDelete {
			// An earlier attempt with unknown outcome has probably deleted it.
			response.StatusCode, response.Status = http.StatusNoContent, "204 No Content"
			return response, nil
		}
		notes.executed = notes.executed || !dry && mayHaveRun(response, err)
		pause, again := c.client.retryDelay(request, response, err, attempt)
		if !again {
			return response, err
		}
		c.client.log.LogAttrs(ctx, slog.LevelWarn, "retrying the request", slog.String("method", request.Method),
			slog.String("path", request.URL.Path), slog.Int("attempt", attempt), slog.Duration("pause", pause),
			slog.String("reason", reason(response, err)))
		if stopped := c.client.sleep(ctx, pause); stopped != nil {
			return nil, unsent{fmt.Errorf("%w; before that: %s", stopped, reason(response, err))}
		}
	}
}

// awaitUpgrade waits before a request is sent to another server of the service. After upgradeTimeout it returns false, and
// the client asks for the version again before the next request that needs it.
func (c *chain) awaitUpgrade(ctx context.Context, began time.Time, attempt int) (again bool, err error) {
	if c.client.now().Sub(began) >= upgradeTimeout {
		c.client.announced.set(0, time.Time{})
		return false, nil
	}
	c.client.log.LogAttrs(ctx, slog.LevelWarn, "retrying the request: this server does not have the extensions that the service had",
		slog.Int("attempt", attempt))
	return true, c.client.pause(ctx, attempt)
}

// mayHaveRun reports whether the server may have executed an attempt whose outcome is unknown: one that broke off after
// it was sent, or one with a response of a proxy or of a server that timed out.
func mayHaveRun(response *http.Response, err error) bool {
	if err != nil {
		return !notSent(err)
	}
	return overloaded(response.StatusCode) && response.StatusCode != http.StatusTooManyRequests
}

func reason(response *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
}

// authenticated sends the request, and once more with a new token if the response is 401.
func (c *chain) authenticated(request *http.Request) (*http.Response, error) {
	for first := true; ; first = false {
		identity, err := c.client.auth.headers(request.Context())
		if err != nil {
			return nil, unsent{err}
		}
		response, err := c.attempt(request, identity)
		if err != nil || response.StatusCode != http.StatusUnauthorized || !first ||
			!c.client.auth.refused(identity.Get(tokenHeader)) {
			return response, err
		}
	}
}

// attempt sends the request once and reads the whole response. A truncated response is an error here, where it can be
// retried.
func (c *chain) attempt(request *http.Request, identity http.Header) (*http.Response, error) {
	ctx := request.Context()
	if err := ctx.Err(); err != nil {
		return nil, unsent{err}
	}
	copied, err := c.dressed(request, identity)
	if err != nil {
		return nil, unsent{err}
	}
	start := time.Now()
	response, err := c.base.RoundTrip(copied)
	if err != nil {
		return nil, err
	}
	if accepted(ctx) != jsonType && response.StatusCode == http.StatusOK {
		c.log(request, response, start)
		return response, nil
	}
	body, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("reading the response: %w", err)
	}
	response.Body, response.Request = io.NopCloser(bytes.NewReader(body)), request
	c.log(request, response, start)
	return response, nil
}

func (c *chain) log(request *http.Request, response *http.Response, start time.Time) {
	c.client.log.LogAttrs(request.Context(), slog.LevelDebug, "request", slog.String("method", request.Method),
		slog.String("url", request.URL.Redacted()), slog.Int("status", response.StatusCode),
		slog.String("request_id", response.Header.Get(requestIDHeader)), slog.Duration("duration", time.Since(start)))
}

const requestIDHeader = "X-Openstack-Request-Id"

// dressed returns a copy of the request with its own body and all headers.
func (c *chain) dressed(request *http.Request, identity http.Header) (*http.Request, error) {
	copied := request.Clone(request.Context())
	if request.Body != nil && request.Body != http.NoBody {
		if request.GetBody == nil {
			return nil, fmt.Errorf("%s %s has a body that can be read once only", request.Method, request.URL.Path)
		}
		var err error
		if copied.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
	}
	for name, values := range identity {
		copied.Header[name] = values
	}
	selectExtensions(request.Context(), copied.Header)
	keyOf(request.Context()).addTo(copied.Header)
	copied.Header.Set("Accept", accepted(request.Context()))
	copied.Header.Set("User-Agent", c.agent)
	if id, ok := request.Context().Value(globalIDKey{}).(string); ok {
		copied.Header.Set(requestIDHeader, id)
	}
	return copied, nil
}
