package keystone

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/request"
)

// fernetToken returns a well-formed token that no Keystone has issued.
func fernetToken(of string) string {
	sum := sha256.Sum256([]byte(of))
	return base64.RawURLEncoding.EncodeToString(append([]byte{fernetVersion, 0, 0, 0, 0, 0x69, 0x20, 0, 0},
		[]byte(strings.Repeat(string(sum[:]), 4))[:16+48+32]...))
}

// askFrom authenticates a request of a client.
func askFrom(t *testing.T, by *Authenticator, client, token string) (auth.Caller, error) {
	t.Helper()
	r := requestTo(t, "/traits", "X-Auth-Token", token)
	return by.Authenticate(r.WithContext(request.With(r.Context(), &request.Info{ClientNetwork: client})))
}

// slowly makes Keystone validate only a few tokens concurrently, each after a delay.
func slowly(workers int, moment time.Duration) func(http.ResponseWriter, *http.Request) bool {
	busy := make(chan struct{}, workers)
	return func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			busy <- struct{}{}
			time.Sleep(moment)
			<-busy
		}
		return false
	}
}

// flood sends made-up tokens over the given number of connections until the test ends or stop is called.
func flood(t *testing.T, by *Authenticator, connections int, client func(connection int) string) (stop func()) {
	t.Helper()
	ended, end := context.WithCancel(t.Context())
	var senders sync.WaitGroup
	for connection := range connections {
		senders.Go(func() {
			for n := 0; ended.Err() == nil; n++ {
				_, err := askFrom(t, by, client(connection), fernetToken(fmt.Sprint("made up ", connection, n)))
				if err == nil {
					t.Error("a made-up token is valid")
				}
				if refused := new(auth.UnauthenticatedError); !errors.As(err, &refused) {
					time.Sleep(time.Millisecond) // a rejected client retries soon
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { end(); senders.Wait() })
	t.Cleanup(stop)
	return stop
}

func TestKeystone_FloodOfMadeUpTokens_FreshValidTokensPass(t *testing.T) {
	t.Parallel()
	for name, clientOf := range map[string]func(n int) string{
		"from other addresses":  func(n int) string { return fmt.Sprint("192.0.2.", n) },
		"from the same address": func(int) string { return "198.51.100.1" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keystone := newFake(t)
			keystone.answer(slowly(16, 5*time.Millisecond))
			by := keystone.authenticator(t, func(o *Options) {
				o.TokenFormats, o.MaxQueued, o.BreakerFailures = []string{FormatFernet}, 1024, 5
				o.Total = time.Minute // another test checks the bound of the wait
			})
			flood(t, by, 500, func(int) string { return "198.51.100.1" })
			for by.Stats()["invalid"] < 100 {
				time.Sleep(time.Millisecond)
			}
			var fresh sync.WaitGroup
			for n := range 12 {
				token := fernetToken(fmt.Sprint("valid ", n))
				keystone.know(token, time.Hour, nil, "")
				fresh.Go(func() {
					if _, err := askFrom(t, by, clientOf(n), token); err != nil {
						t.Errorf("token %d: %v", n, err)
					}
				})
			}
			fresh.Wait()
			if got := by.Stats(); got["valid"] != 12 || got["error"] != 0 || got["circuit_open"] != 0 {
				t.Errorf("counters = %v", got)
			}
		})
	}
}

// A flood fills the queue, and a client with one request still gets into it.
func TestKeystone_QueueFullOfOneClient_OthersQueue(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.answer(slowly(4, 5*time.Millisecond))
	by := keystone.authenticator(t, func(o *Options) { o.MaxValidations, o.MaxQueued, o.Total = 4, 16, time.Minute })
	flood(t, by, 100, func(int) string { return "198.51.100.1" })
	for by.Stats()["queue_full"] < 100 {
		time.Sleep(time.Millisecond)
	}
	for n := range 12 {
		token := fmt.Sprint("valid-", n)
		keystone.know(token, time.Hour, nil, "")
		if _, err := askFrom(t, by, "192.0.2.1", token); err != nil {
			t.Errorf("token %d: %v", n, err)
		}
	}
	if got := by.Stats(); got["error"] != 0 {
		t.Errorf("counters = %v", got)
	}
}

func TestKeystone_RequestsLeaveTheQueue_NothingIsAskedForThem(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	by := keystone.authenticator(t, func(o *Options) { o.MaxValidations, o.MaxQueued = 1, 100 })
	if err := by.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	released := make(chan struct{})
	keystone.answer(func(http.ResponseWriter, *http.Request) bool { <-released; return false })
	leaving, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			r := requestTo(t, "/traits", "X-Auth-Token", fmt.Sprint("t-", n))
			_, err := by.Authenticate(r.WithContext(leaving))
			wantAway(t, err, "canceled")
		})
	}
	for by.Validations()["queued"] < 49 {
		time.Sleep(time.Millisecond)
	}
	leave()
	all.Wait()
	if got := by.Validations(); got["queued"] != 0 || got["running"] != 1 {
		t.Errorf("validations = %v", got)
	}
	close(released)
	for by.Validations()["running"] > 0 {
		time.Sleep(time.Millisecond)
	}
	keystone.want(t, 1, 1)
}

// silent does not respond until the test ends. The connections stay open.
func silent(t *testing.T) func(http.ResponseWriter, *http.Request) bool {
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	return func(http.ResponseWriter, *http.Request) bool { <-ended; return true }
}

func TestKeystone_Silent_EveryRequestEndsInTime(t *testing.T) {
	t.Parallel()
	const total = time.Second
	keystone := newFake(t)
	keystone.answer(silent(t))
	by := keystone.authenticator(t, func(o *Options) {
		o.Total, o.Timeout, o.Retries, o.Pause = total, total*2/3, 60, time.Millisecond
		o.MaxValidations, o.MaxQueued = 4, 20
	})
	var all sync.WaitGroup
	for n := range 40 {
		all.Go(func() {
			r := requestTo(t, "/traits", "X-Auth-Token", fmt.Sprint("user-", n), "X-Service-Token", fmt.Sprint("service-", n))
			began := time.Now()
			_, err := by.Authenticate(r)
			if took := time.Since(began); took > 15*total {
				t.Errorf("request %d took %s, want at most %s", n, took, total)
			}
			wantAway(t, err, "")
		})
	}
	all.Wait()
	if got := by.Stats(); got["queue_full"] != 16 || got["timed_out"]+got["error"] < 20 {
		t.Errorf("counters = %v", got)
	}
}

func TestKeystone_SilentThenBack_BreakerOpensAndCloses(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.know("known", time.Hour, nil, "")
	by := keystone.authenticator(t, func(o *Options) {
		o.Timeout, o.Retries, o.BreakerFailures, o.BreakerTime = 500*time.Millisecond, 0, 3, time.Hour
	})
	if _, err := ask(t, by, "X-Auth-Token", "known"); err != nil {
		t.Fatal(err)
	}
	keystone.want(t, 1, 1)
	keystone.answer(silent(t))
	for n := range 3 {
		_, err := ask(t, by, "X-Auth-Token", fmt.Sprint("t-", n))
		wantAway(t, err, "Timeout")
	}
	for n := range 100 {
		_, err := ask(t, by, "X-Auth-Token", fmt.Sprint("u-", n))
		wantAway(t, err, "circuit breaker is open")
	}
	keystone.want(t, 0, 3) // an open breaker sends nothing
	if _, err := ask(t, by, "X-Auth-Token", "known"); err != nil {
		t.Errorf("a cached token: %v", err)
	}
	if got := by.Stats(); got["error"] != 3 || got["circuit_open"] != 100 {
		t.Errorf("counters = %v", got)
	}
}

func TestKeystone_BreakerOpen_OneProbeClosesIt(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.know("t", time.Hour, nil, "")
	by := keystone.authenticator(t, func(o *Options) { o.Retries, o.BreakerFailures, o.BreakerTime = 0, 2, 20*time.Millisecond })
	if err := by.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	var questions atomic.Int64
	keystone.answer(func(w http.ResponseWriter, _ *http.Request) bool {
		questions.Add(1)
		refuse(w, http.StatusBadGateway, "away")
		return true
	})
	for n := 0; by.Stats()["circuit_open"] < 1000; n++ {
		if _, err := ask(t, by, "X-Auth-Token", fmt.Sprint("made-up-", n)); err == nil {
			t.Fatal("no error")
		}
	}
	if asked := questions.Load(); asked > 500 {
		t.Errorf("%d validations while Keystone was unreachable", asked)
	}
	keystone.answer(nil)
	for range 5000 {
		if _, err := ask(t, by, "X-Auth-Token", "t"); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("the breaker did not close")
}

// Invalid tokens, and failures that a client can cause with made-up tokens, do not open the breaker.
func TestKeystone_MadeUpTokens_DoNotOpenBreaker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		suffix string
	}{
		"unknown":              {http.StatusNotFound, ""},
		"Keystone fails on it": {http.StatusInternalServerError, ""},
		"Keystone limits":      {http.StatusTooManyRequests, ""},
		"too long for a proxy": {http.StatusBadGateway, strings.Repeat("x", maxBreakerToken)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keystone := newFake(t)
			keystone.know("valid", time.Hour, nil, "")
			by := keystone.authenticator(t, func(o *Options) { o.Retries, o.BreakerFailures, o.BreakerTime = 0, 1, time.Hour })
			keystone.answer(func(w http.ResponseWriter, r *http.Request) bool {
				made := strings.HasPrefix(r.Header.Get("X-Subject-Token"), "made-up")
				if made {
					refuse(w, c.status, "no")
				}
				return made
			})
			for n := range 10 {
				if _, err := ask(t, by, "X-Auth-Token", fmt.Sprint("made-up-", n, c.suffix)); err == nil {
					t.Error("a made-up token is valid")
				}
			}
			if _, err := ask(t, by, "X-Auth-Token", "valid"); err != nil {
				t.Error(err)
			}
			if got := by.Stats()["circuit_open"]; got != 0 {
				t.Errorf("the breaker rejected %d requests", got)
			}
		})
	}
}

// The wait in the queue does not shorten the timeout of the validation.
func TestKeystone_LongWaitForPlace_ValidationHasItsOwnDeadline(t *testing.T) {
	t.Parallel()
	const total = 3 * time.Second
	keystone := newFake(t)
	keystone.know("late", time.Hour, nil, "")
	by := keystone.authenticator(t, func(o *Options) { o.Total, o.MaxValidations, o.MaxQueued, o.BreakerFailures = total, 1, 10, 1 })
	if err := by.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	keystone.answer(slowly(1, total*3/4))
	var both sync.WaitGroup
	both.Go(func() { _, err := ask(t, by, "X-Auth-Token", "unknown"); wantRefused(t, err, "does not know") })
	for by.Validations()["running"] == 0 {
		time.Sleep(time.Millisecond)
	}
	both.Go(func() { _, err := ask(t, by, "X-Auth-Token", "late"); wantAway(t, err, "within 3s") })
	both.Wait()
	for by.Validations()["running"] > 0 {
		time.Sleep(time.Millisecond)
	}
	if got := by.Stats(); got["error"] != 0 || got["valid"] != 1 || got["timed_out"] != 1 {
		t.Errorf("counters = %v", got)
	}
	if _, err := ask(t, by, "X-Auth-Token", "late"); err != nil {
		t.Errorf("the result was not cached: %v", err)
	}
}

func TestKeystone_EmptyCache_TokensAreValidatedAgain(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.know("t", time.Hour, nil, "")
	by := keystone.authenticator(t)
	for range 2 {
		if _, err := ask(t, by, "X-Auth-Token", "t"); err != nil {
			t.Error(err)
		}
	}
	keystone.want(t, 1, 1)
	// A validation that began before the cache was emptied is not cached.
	begun, released := make(chan struct{}), make(chan struct{})
	began := sync.OnceFunc(func() { close(begun) })
	keystone.answer(func(http.ResponseWriter, *http.Request) bool { began(); <-released; return false })
	keystone.know("running", time.Hour, nil, "")
	var asking sync.WaitGroup
	asking.Go(func() { ask(t, by, "X-Auth-Token", "running") })
	<-begun
	if got := by.EmptyCache(); got != 1 {
		t.Errorf("EmptyCache = %d", got)
	}
	close(released)
	asking.Wait()
	keystone.mutex.Lock()
	clear(keystone.known)
	keystone.mutex.Unlock()
	for _, token := range []string{"t", "running"} {
		_, err := ask(t, by, "X-Auth-Token", token)
		wantRefused(t, err, "does not know")
	}
}
