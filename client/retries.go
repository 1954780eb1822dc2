package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Retries are the number of attempts and the backoff between them. A field that is 0 has its default. Each delay is
// random below its bound, so that clients that fail at the same time do not retry at the same time.
type Retries struct {
	// Attempts includes the first one; 1 disables retries. Default 4.
	Attempts int
	// Pause is the maximum delay before the second attempt; it doubles with each attempt after that. Default 100 ms.
	Pause time.Duration
	// LongestPause is the maximum of all these delays. The client does not retry after a Retry-After header above it.
	// Default 10 s.
	LongestPause time.Duration
	// ClaimPause, times the number of attempts made, is the maximum delay before a claim is retried after a generation
	// conflict. Default 20 times Pause.
	ClaimPause time.Duration
}

func (r Retries) withDefaults() Retries {
	if r.Attempts <= 0 {
		r.Attempts = 4
	}
	if r.Pause <= 0 {
		r.Pause = 100 * time.Millisecond
	}
	if r.LongestPause <= 0 {
		r.LongestPause = 10 * time.Second
	}
	if r.ClaimPause <= 0 {
		r.ClaimPause = 20 * r.Pause
	}
	return r
}

// pause waits for the backoff after so many failed attempts.
func (c *Client) pause(ctx context.Context, failed int) error {
	return c.sleep(ctx, c.backOff(failed))
}

// backOff returns the delay after so many failed attempts.
func (c *Client) backOff(failed int) time.Duration {
	bound := c.retries.Pause
	for range failed - 1 {
		if bound >= c.retries.LongestPause {
			break
		}
		bound *= 2
	}
	return time.Duration(c.random() * float64(min(bound, c.retries.LongestPause)))
}

// claimPause waits after so many claims that failed with a generation conflict.
func (c *Client) claimPause(ctx context.Context, failed int) error {
	return c.sleep(ctx, time.Duration(c.random()*float64(failed)*float64(c.retries.ClaimPause)))
}

// sleep waits, and returns the error of ctx if that ends first.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// isRead reports whether a request changes nothing: a GET, or a query with a body for candidates or for capacity.
func isRead(method, path string) bool {
	return method == http.MethodGet || method == http.MethodHead ||
		method == http.MethodPost && (strings.HasSuffix(path, "/allocation_candidates") || strings.HasSuffix(path, "/capacity"))
}

// isIdempotent reports whether a request can be executed twice: reads, dry runs, requests with an Idempotency-Key,
// deletions, PUTs of trees, and PUTs without a body, which create a trait or a class. All others carry a generation, so
// that the first execution makes the second one fail.
func isIdempotent(request *http.Request) bool {
	if isDryRun(request) || keyOf(request.Context()).key != "" {
		return true
	}
	switch request.Method {
	case http.MethodDelete:
		return !clearsAtGeneration(request)
	case http.MethodPut:
		return request.Body == nil || request.Body == http.NoBody || strings.HasSuffix(request.URL.Path, "/tree")
	}
	return isRead(request.Method, request.URL.Path)
}

// clearsAtGeneration reports whether a deletion increments the generation that it compares. Other deletions with a
// generation delete what has it.
func clearsAtGeneration(request *http.Request) bool {
	path := request.URL.Path
	return request.URL.Query().Has(providerGeneration) && (strings.HasSuffix(path, "/inventories") || strings.HasSuffix(path, "/traits"))
}

// unsent is an error from before the request was sent.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// notSent reports whether the service certainly did not receive the request.
func notSent(err error) bool {
	var before unsent
	var connecting *net.OpError
	var unknown *net.DNSError
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &before) || errors.As(err, &unknown) || errors.As(err, &untrusted) ||
		errors.As(err, &connecting) && connecting.Op == "dial"
}

// isPermanent reports whether a retry would fail with the same error.
func isPermanent(err error) bool {
	var untrusted *tls.CertificateVerificationError
	var refused *Error // by Keystone
	return errors.As(err, &untrusted) || errors.As(err, &refused) && refused.Status != 0 && !overloaded(refused.Status)
}

// overloaded reports whether a status is one of overload or a gateway, independent of the request.
func overloaded(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryDelay returns whether to retry a request after an error or a response, and the delay. A server sends 429 before
// it executes a request; with the other statuses of overload it may have executed it.
func (c *Client) retryDelay(request *http.Request, response *http.Response, err error, failed int) (time.Duration, bool) {
	if failed >= c.retries.Attempts || request.Context().Err() != nil {
		return 0, false
	}
	if err != nil {
		return c.backOff(failed), !isPermanent(err) && (notSent(err) || isIdempotent(request))
	}
	if !overloaded(response.StatusCode) || response.StatusCode != http.StatusTooManyRequests && !isIdempotent(request) {
		return 0, false
	}
	asked, given := c.retryAfter(response)
	if !given {
		return c.backOff(failed), true
	}
	return asked, asked <= c.retries.LongestPause
}

// retryAfter reads the Retry-After header: seconds or a date.
func (c *Client) retryAfter(response *http.Response) (time.Duration, bool) {
	text := response.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(c.now())), true
	}
	return 0, false
}
