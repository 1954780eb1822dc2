package keystone

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// answering returns a handler that responds with status to every request.
func answering(status int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		refuse(w, status, "no thanks")
		return true
	}
}

func TestKeystone_Unreachable_RetriedThenUnavailable(t *testing.T) {
	t.Parallel()
	for status, questions := range map[int]int{502: 3, 503: 3, 504: 3, 429: 3, 500: 1, 418: 1, 403: 1} {
		keystone := newFake(t)
		keystone.know("subject", time.Hour, nil, "")
		by := keystone.authenticator(t)
		if err := by.Check(t.Context()); err != nil {
			t.Error(err)
		}
		keystone.want(t, 1, 0)
		keystone.answer(answering(status))
		_, err := ask(t, by, "X-Auth-Token", "subject")
		wantAway(t, err, "no thanks")
		keystone.want(t, 0, questions)
		// The failures are not cached.
		keystone.answer(nil)
		if _, err := ask(t, by, "X-Auth-Token", "subject"); err != nil {
			t.Errorf("after %d: %v", status, err)
		}
	}
}

// All requests with the token wait for one validation: a long delay would outlast the outage.
func TestKeystone_ManyRetries_BackoffBounded(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	by := keystone.authenticator(t, func(o *Options) { o.Pause, o.Retries = 5*time.Millisecond, 12 })
	keystone.answer(answering(http.StatusServiceUnavailable))
	began := time.Now()
	err := by.Check(t.Context())
	wantAway(t, err, "no thanks")
	keystone.want(t, 13, 0)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestKeystone_Down_ReturnsUnavailable(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.Close()
	by := keystone.authenticator(t)
	_, err := ask(t, by, "X-Auth-Token", "t")
	wantAway(t, err, "connection refused")
	if err := by.Check(t.Context()); err == nil {
		t.Error("Check = nil although Keystone is unreachable")
	}
}

func TestKeystone_HangsWithUnknownTokens_QueueBounded(t *testing.T) {
	t.Parallel()
	const places, queued = 16, 32
	keystone := newFake(t)
	by := keystone.authenticator(t, func(o *Options) { o.Timeout, o.MaxValidations, o.MaxQueued = time.Minute, places, queued })
	if err := by.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	released := make(chan struct{})
	keystone.answer(func(http.ResponseWriter, *http.Request) bool { <-released; return false })
	var asking sync.WaitGroup
	for n := range places + queued {
		asking.Go(func() { ask(t, by, "X-Auth-Token", fmt.Sprint("made-up-", n)) })
	}
	for by.Validations()["queued"] < queued {
		time.Sleep(time.Millisecond)
	}
	_, err := ask(t, by, "X-Auth-Token", "one-more")
	wantAway(t, err, "the queue of token validations is full")
	close(released)
	asking.Wait()
	if left := by.Validations(); left["running"] != 0 || left["queued"] != 0 {
		t.Errorf("validations = %v, want none", left)
	}
}

func TestKeystone_Slow_TimesOut(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	by := keystone.authenticator(t, func(o *Options) { o.Timeout, o.Retries = 50*time.Millisecond, 1 })
	released := make(chan struct{})
	t.Cleanup(func() { close(released) })
	keystone.answer(func(http.ResponseWriter, *http.Request) bool { <-released; return true })
	began := time.Now()
	_, err := ask(t, by, "X-Auth-Token", "t")
	wantAway(t, err, "Timeout")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
	keystone.want(t, 2, 0)
}

func TestKeystone_InvalidResponse_ReturnsUnavailable(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	by := keystone.authenticator(t)
	for words, body := range map[string]string{
		"expires": `{"token": {"user": {"id": "u"}}}`, "no user": `{"token": {"expires_at": "` + at(time.Hour) + `"}}`,
		"invalid character": `<html>a login page</html>`,
	} {
		keystone.answer(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet {
				_, _ = w.Write([]byte(body))
			}
			return r.Method == http.MethodGet
		})
		_, err := ask(t, by, "X-Auth-Token", "t")
		wantAway(t, err, words)
	}
}

func TestKeystone_ServiceTokenRevoked_Renewed(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.know("a", time.Hour, nil, "")
	keystone.know("b", time.Hour, nil, "")
	by := keystone.authenticator(t)
	if _, err := ask(t, by, "X-Auth-Token", "a"); err != nil {
		t.Error(err)
	}
	keystone.want(t, 1, 1)
	keystone.mutex.Lock()
	keystone.revoked, keystone.signIns = 1, 1
	keystone.mutex.Unlock()
	if _, err := ask(t, by, "X-Auth-Token", "b"); err != nil {
		t.Error(err)
	}
	keystone.want(t, 2, 2)
	// If a new token is rejected too, the error is a 503, not a 401.
	keystone.mutex.Lock()
	keystone.revoked = 99
	keystone.mutex.Unlock()
	_, err := ask(t, by, "X-Auth-Token", "other")
	wantAway(t, err, "Keystone rejects Berth's own token, and a new one too")
	keystone.want(t, 1, 2)
}

func TestKeystone_WrongServicePassword_ReturnsUnavailable(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	by := keystone.authenticator(t, func(o *Options) { o.Who.Password = "wrong" })
	_, err := ask(t, by, "X-Auth-Token", "t")
	wantAway(t, err, "authenticate with Keystone at "+keystone.URL+"/v3: status 401")
	keystone.want(t, 1, 0)
}

func TestKeystone_ConcurrentSameToken_ValidatedOnce(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.know("t", time.Hour, nil, "")
	by := keystone.authenticator(t, func(o *Options) { o.CacheTime = 0 })
	released := make(chan struct{})
	keystone.answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			<-released
		}
		return false
	})
	// The first request is canceled, and its validation continues.
	impatient, leave := context.WithCancel(t.Context())
	first := requestTo(t, "/traits", "X-Auth-Token", "t").WithContext(impatient)
	left := make(chan error)
	go func() {
		_, err := by.Authenticate(first)
		left <- err
	}()
	for asked := 0; asked == 0; time.Sleep(time.Millisecond) {
		keystone.mutex.Lock()
		asked = keystone.questions
		keystone.mutex.Unlock()
	}
	leave()
	wantAway(t, <-left, "canceled")
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := ask(t, by, "X-Auth-Token", "t"); err != nil {
				t.Error(err)
			}
		})
	}
	// All requests wait when the response comes, even on a slow machine; a later request would start
	// another validation.
	time.Sleep(200 * time.Millisecond)
	close(released)
	all.Wait()
	keystone.mutex.Lock()
	defer keystone.mutex.Unlock()
	if keystone.signIns != 1 || keystone.questions > 3 {
		t.Errorf("%d authentications and %d validations", keystone.signIns, keystone.questions)
	}
}
