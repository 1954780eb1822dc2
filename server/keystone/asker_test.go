package keystone

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// answering answers with nothing else.
func answering(status int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		refuse(w, status, "no thanks")
		return true
	}
}

func TestAKeystoneThatIsAwayIsAskedAgainAndThenSaidToBe(t *testing.T) {
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
		// Nothing of that is remembered.
		keystone.answer(nil)
		if _, err := ask(t, by, "X-Auth-Token", "subject"); err != nil {
			t.Errorf("after %d: %v", status, err)
		}
	}
}

// Everybody with the token waits for the one who asks: a long pause would outlast the
// outage.
func TestManyAttemptsDoNotWaitLongerAndLonger(t *testing.T) {
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

func TestAKeystoneThatIsDownIsSaidToBe(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.Close()
	by := keystone.authenticator(t)
	_, err := ask(t, by, "X-Auth-Token", "t")
	wantAway(t, err, "connection refused")
	if err := by.Check(t.Context()); err == nil {
		t.Error("it can be asked, it is said")
	}
}

func TestMadeUpTokensDoNotPileUpBehindAKeystoneThatHangs(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	by := keystone.authenticator(t, func(o *Options) { o.Timeout = time.Minute })
	if err := by.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	released := make(chan struct{})
	keystone.answer(func(http.ResponseWriter, *http.Request) bool { <-released; return false })
	var asking sync.WaitGroup
	for n := range mostQuestions {
		asking.Go(func() { ask(t, by, "X-Auth-Token", fmt.Sprint("made-up-", n)) })
	}
	for len(by.asker.questions) < mostQuestions {
		time.Sleep(time.Millisecond)
	}
	_, err := ask(t, by, "X-Auth-Token", "one-more")
	wantAway(t, err, "256 questions")
	close(released)
	asking.Wait()
	if left := len(by.asker.questions); left != 0 {
		t.Errorf("%d questions are still counted", left)
	}
}

func TestAKeystoneThatIsSlowIsNotWaitedForLong(t *testing.T) {
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

func TestAnAnswerThatCannotBeReadIsNoRefusal(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	by := keystone.authenticator(t)
	for words, body := range map[string]string{
		"expires": `{"token": {"user": {"id": "u"}}}`, "no user": `{"token": {"expires_at": "` + at(time.Hour) + `"}}`,
		"invalid character": `<html>a login page of somebody else</html>`,
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

func TestOurOwnTokenIsRenewedWhenItIsRefused(t *testing.T) {
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
	// When that does not help it is our fault, not the client's.
	keystone.mutex.Lock()
	keystone.revoked = 99
	keystone.mutex.Unlock()
	_, err := ask(t, by, "X-Auth-Token", "other")
	wantAway(t, err, "our own token is refused, and so is a new one")
	keystone.want(t, 1, 2)
}

func TestAWrongPasswordOfOursIsNoRefusal(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	by := keystone.authenticator(t, func(o *Options) { o.Who.Password = "wrong" })
	_, err := ask(t, by, "X-Auth-Token", "t")
	wantAway(t, err, "sign in at "+keystone.URL+"/v3: the answer is 401")
	keystone.want(t, 1, 0)
}

func TestManyRequestsWithOneTokenAskOnce(t *testing.T) {
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
	// The first of them goes away, and its question goes on.
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
	// They are all there when the answer comes, however slow this machine is; who
	// comes later would ask once more.
	time.Sleep(200 * time.Millisecond)
	close(released)
	all.Wait()
	keystone.mutex.Lock()
	defer keystone.mutex.Unlock()
	if keystone.signIns != 1 || keystone.questions > 3 {
		t.Errorf("Keystone was asked for %d tokens and %d times about one", keystone.signIns, keystone.questions)
	}
}
