package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Retries are how often something is tried, and how long the pauses are. A field
// that is 0 has its default. All pauses are random below their bound, so that
// those who failed together do not come back together.
type Retries struct {
	// Attempts are counted with the first one; 1 repeats nothing. Default 4.
	Attempts int
	// Pause bounds the pause before the second attempt; it doubles with each one
	// after that. Default 100 ms.
	Pause time.Duration
	// LongestPause bounds all of them. A service that asks with Retry-After for a
	// longer one is not asked again. Default 10 s.
	LongestPause time.Duration
	// ClaimPause, times the number of attempts made, bounds the pause before a
	// claim is tried again because another claim on the provider was faster.
	// Default 20 times Pause.
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

// pause waits after so many failed attempts.
func (c *Client) pause(ctx context.Context, failed int) error {
	return c.sleep(ctx, c.backOff(failed))
}

// backOff is a pause after so many failed attempts.
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

// claimPause waits after so many claims that lost a race.
func (c *Client) claimPause(ctx context.Context, failed int) error {
	return c.sleep(ctx, time.Duration(c.random()*float64(failed)*float64(c.retries.ClaimPause)))
}

// sleep is time.Sleep for those who may be cancelled.
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

// repeatable are requests that may be done twice: reading, deleting, and letting a
// trait or a class exist, which are the PUTs without a body. All others carry a
// generation: done twice, the second would fail because of the first.
func repeatable(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodDelete:
		return true
	case http.MethodPut:
		return request.Body == nil || request.Body == http.NoBody
	}
	return false
}

// unsent is a failure before anything of a request left.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// neverSent says that the service cannot have seen the request.
func neverSent(err error) bool {
	var before unsent
	var connecting *net.OpError
	var unknown *net.DNSError
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &before) || errors.As(err, &unknown) || errors.As(err, &untrusted) ||
		errors.As(err, &connecting) && connecting.Op == "dial"
}

// hopeless are failures that stay as they are.
func hopeless(err error) bool {
	var untrusted *tls.CertificateVerificationError
	var refused *Error // by Keystone
	return errors.As(err, &untrusted) || errors.As(err, &refused) && refused.Status != 0 && !overloaded(refused.Status)
}

// overloaded are statuses that say nothing about the request.
func overloaded(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// again decides whether a request is repeated after a failure or an answer, and
// after which pause. 429 is given before a request is looked at; after the other
// statuses it may have been done.
func (c *Client) again(request *http.Request, response *http.Response, err error, failed int) (time.Duration, bool) {
	if failed >= c.retries.Attempts || request.Context().Err() != nil {
		return 0, false
	}
	if err != nil {
		return c.backOff(failed), !hopeless(err) && (neverSent(err) || repeatable(request))
	}
	if !overloaded(response.StatusCode) || response.StatusCode != http.StatusTooManyRequests && !repeatable(request) {
		return 0, false
	}
	asked, given := c.retryAfter(response)
	if !given {
		return c.backOff(failed), true
	}
	return asked, asked <= c.retries.LongestPause
}

// retryAfter reads the header of that name: seconds or a date.
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
