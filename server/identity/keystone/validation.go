package keystone

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/fairqueue"
	"github.com/berthd/berth/server/wire/request"
)

// validation is one token validation. Requests with the same token wait for the same validation. It has
// its own deadline: it continues when the request that started it ends, because the result is cached.
type validation struct {
	done  chan struct{}
	token *token
	err   error
	// epoch is the epoch of the cache at the start.
	epoch int
}

// validations holds the running validations by token.
type validations struct {
	mutex   sync.Mutex
	running map[key]*validation
}

// find returns the running validation of a token, nil if there is none.
func (v *validations) find(of key) *validation {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.running[of]
}

// begin returns the running validation of a token, or starts a new one; isNew reports which.
func (v *validations) begin(of key, epoch int) (found *validation, isNew bool) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if found := v.running[of]; found != nil {
		return found, false
	}
	result := &validation{done: make(chan struct{}), epoch: epoch}
	v.running[of] = result
	return result, true
}

// end removes a validation and wakes the requests that wait for its result.
func (v *validations) end(of key, ended *validation) {
	v.mutex.Lock()
	if v.running[of] == ended {
		delete(v.running, of)
	}
	v.mutex.Unlock()
	close(ended.done)
}

// forget removes all running validations, so that later requests start new ones.
func (v *validations) forget() {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.running = map[key]*validation{}
}

// validate returns the token that text stands for, from the cache or from Keystone. Each call checks that
// the token has not expired. Errors are *auth.UnauthenticatedError, *auth.Unavailable, or that of ctx.
func (a *Authenticator) validate(ctx context.Context, text string, allowExpired bool) (*token, error) {
	if !wellFormed(a.formats, text) {
		a.stats.malformed.Add(1)
		return nil, &auth.UnauthenticatedError{Reason: "the token has none of the accepted formats (keystone-token-formats)"}
	}
	of := keyOf(text, allowExpired)
	found, err := a.cached(of)
	if found == nil && err == nil {
		found, err = a.request(ctx, of, text)
	}
	if err != nil {
		return nil, err
	}
	if !allowExpired && !time.Now().Before(found.expires) {
		return nil, &auth.UnauthenticatedError{Reason: "the token has expired"}
	}
	return found, nil
}

// cached returns the cached result of a validation; both are nil if there is none.
func (a *Authenticator) cached(of key) (*token, error) {
	found, refused := a.cache.find(of, time.Now())
	switch {
	case refused != nil:
		a.stats.knownBad.Add(1)
		return nil, refused
	case found != nil:
		a.stats.known.Add(1)
	}
	return found, nil
}

// request waits for the running validation of the token. Without one it waits in the queue and starts one.
func (a *Authenticator) request(ctx context.Context, of key, text string) (*token, error) {
	if running := a.validations.find(of); running != nil {
		return a.await(ctx, running)
	}
	if a.breaker.State() == gobreaker.StateOpen {
		return nil, a.unavailable(gobreaker.ErrOpenState)
	}
	if err := a.enter(ctx, request.From(ctx).ClientNetwork); err != nil {
		return nil, a.unavailable(err)
	}
	// Another request with the token may have finished meanwhile.
	if found, err := a.cached(of); found != nil || err != nil {
		a.leave()
		return found, err
	}
	running, isNew := a.validations.begin(of, a.cache.currentEpoch())
	if isNew {
		go a.run(context.WithoutCancel(ctx), running, of, text)
	} else {
		a.leave()
	}
	return a.await(ctx, running)
}

// errQueueFull is the error of a request that is rejected by the queue.
var errQueueFull = errors.New("the queue of token validations is full")

// enter waits for a place among the running validations.
func (a *Authenticator) enter(ctx context.Context, client string) error {
	err := a.queue.Enter(ctx, client, fairqueue.Short)
	if errors.Is(err, fairqueue.ErrFull) {
		return errQueueFull
	}
	return err
}

// leave returns the place of a validation.
func (a *Authenticator) leave() { a.queue.Leave("", fairqueue.Short, 0) }

// run validates a token and caches the result.
func (a *Authenticator) run(ctx context.Context, running *validation, of key, text string) {
	defer a.leave()
	defer a.validations.end(of, running)
	ctx, cancel := context.WithTimeout(ctx, a.options.Total)
	defer cancel()
	found, err := a.throughBreaker(text, func() (*token, error) { return a.tokenValidator.ask(ctx, text, of.allowExpired) })
	var refused *auth.UnauthenticatedError
	switch {
	case err == nil:
		a.stats.valid.Add(1)
		a.cache.putValid(of, found, running.epoch, time.Now())
	case errors.As(err, &refused):
		a.stats.refused.Add(1)
		a.cache.refuse(of, refused, running.epoch, time.Now())
	case !isOpen(err): // counted for each request in unavailable
		a.stats.failed.Add(1)
	}
	running.token, running.err = found, err
}

// await waits for a validation until ctx ends.
func (a *Authenticator) await(ctx context.Context, running *validation) (*token, error) {
	select {
	case <-running.done:
		if refused := new(auth.UnauthenticatedError); running.err != nil && !errors.As(running.err, &refused) {
			return nil, a.unavailable(running.err)
		}
		return running.token, running.err
	case <-ctx.Done():
		return nil, a.unavailable(ctx.Err())
	}
}

// unavailable maps an error to a *auth.Unavailable and counts the outcomes that run does not count. A
// canceled request is not counted; its error is returned unchanged.
func (a *Authenticator) unavailable(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case isOpen(err):
		a.stats.circuitOpen.Add(1)
		return &auth.Unavailable{Cause: "circuit_open", Err: fmt.Errorf("no response from Keystone to earlier validations: %w", err)}
	case errors.Is(err, errQueueFull):
		a.stats.queueFull.Add(1)
		return &auth.Unavailable{Cause: "queue_full", Err: fmt.Errorf("too many queued token validations: %w (keystone-max-queued-validations)", err)}
	case err == context.DeadlineExceeded: //nolint:errorlint // only the error of the request's own context
		a.stats.timedOut.Add(1)
		return &auth.Unavailable{Cause: "timed_out",
			Err: fmt.Errorf("the token was not validated within %s (keystone-authentication-timeout)", a.options.Total)}
	default:
		return &auth.Unavailable{Cause: "failed", Err: err}
	}
}

// EmptyCache removes all tokens from the cache and prevents running validations from being cached. It
// returns the number of valid tokens that it removed.
func (a *Authenticator) EmptyCache() int {
	forgotten := a.cache.empty()
	a.validations.forget()
	return forgotten
}
