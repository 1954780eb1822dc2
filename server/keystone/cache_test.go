package keystone

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/berthd/berth/server/auth"
)

func TestAnAnswerIsRememberedForAWhile(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.know("t", time.Hour, nil, "")
	by := keystone.authenticator(t)
	for range 5 {
		if _, err := ask(t, by, "X-Auth-Token", "t"); err != nil {
			t.Error(err)
		}
		_, err := ask(t, by, "X-Auth-Token", "unknown")
		wantRefused(t, err, "does not know")
	}
	keystone.want(t, 1, 2)
	// What is known is refused and accepted while Keystone is away.
	keystone.answer(answering(503))
	if _, err := ask(t, by, "X-Auth-Token", "t"); err != nil {
		t.Error(err)
	}
	keystone.want(t, 0, 0)
}

func TestNothingIsRememberedWhereThatIsOff(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{0, -time.Second} {
		keystone := newFake(t)
		keystone.know("t", time.Hour, nil, "")
		by := keystone.authenticator(t, func(o *Options) { o.CacheTime = off })
		for range 3 {
			if _, err := ask(t, by, "X-Auth-Token", "t"); err != nil {
				t.Error(err)
			}
			_, err := ask(t, by, "X-Auth-Token", "unknown")
			wantRefused(t, err, "does not know")
		}
		keystone.want(t, 1, 6)
	}
}

func TestATokenIsNotAcceptedBeyondItsEnd(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	const lasts = 1500 * time.Millisecond
	keystone.know("t", lasts, nil, "")
	by := keystone.authenticator(t)
	if _, err := ask(t, by, "X-Auth-Token", "t"); err != nil {
		t.Error(err)
	}
	time.Sleep(lasts)
	// This Keystone still vouches for it.
	_, err := ask(t, by, "X-Auth-Token", "t")
	wantRefused(t, err, "expired")
	keystone.want(t, 1, 2)
}

func TestAnExpiredTokenIsAskedForEachTime(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.know("expired", -time.Minute, nil, "")
	keystone.know("nova", time.Hour, []string{"service"}, "")
	by := keystone.authenticator(t)
	for range 3 {
		if _, err := ask(t, by, "X-Auth-Token", "expired", "X-Service-Token", "nova"); err != nil {
			t.Error(err)
		}
	}
	keystone.want(t, 1, 4)
	// What a service may use is no use to anybody else, and the other way round.
	for range 2 {
		_, err := ask(t, by, "X-Auth-Token", "expired")
		wantRefused(t, err, "expired")
	}
	keystone.want(t, 0, 1)
	if _, err := ask(t, by, "X-Auth-Token", "expired", "X-Service-Token", "nova"); err != nil {
		t.Error(err)
	}
	if keystone.expiredToo != 4 {
		t.Errorf("%d questions were about expired tokens, want 4", keystone.expiredToo)
	}
}

func TestTokensAreRememberedByTheirHash(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.know("t", time.Hour, nil, "")
	by := keystone.authenticator(t)
	if _, err := ask(t, by, "X-Auth-Token", "t"); err != nil {
		t.Error(err)
	}
	keys := by.cache.good.Keys()
	if len(keys) != 1 || keys[0].sum != sha256.Sum256([]byte("t")) {
		t.Errorf("the keys are %v", keys)
	}
	if keyOf("t", false).flight() == keyOf("t", true).flight() {
		t.Error("two questions are one")
	}
}

func TestMadeUpTokensDriveNoGoodOnesOut(t *testing.T) {
	t.Parallel()
	now, memory := time.Now(), newCache(time.Hour)
	memory.keep(keyOf("good", false), &token{expires: now.Add(time.Hour)}, now)
	for i := range 3 * goodTokens {
		memory.refuse(keyOf(fmt.Sprint(i), false), &auth.Refused{}, now)
	}
	if found, _ := memory.find(keyOf("good", false), now); found == nil {
		t.Error("the good token is forgotten")
	}
	if found := memory.bad.Len(); found > badTokens {
		t.Errorf("%d tokens are remembered", found)
	}
	if _, refused := memory.find(keyOf(fmt.Sprint(3*goodTokens-1), false), now.Add(badTime)); refused != nil {
		t.Error("a bad token is remembered for longer than a moment")
	}
}
