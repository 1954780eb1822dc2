package keystone

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/berthd/berth/server/identity/auth"
)

func TestKeystone_ValidationResult_Cached(t *testing.T) {
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
	// Cached results are valid while Keystone is unreachable.
	keystone.answer(answering(503))
	if _, err := ask(t, by, "X-Auth-Token", "t"); err != nil {
		t.Error(err)
	}
	keystone.want(t, 0, 0)
}

func TestKeystone_CacheOff_ValidatesEachRequest(t *testing.T) {
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

func TestKeystone_CachedTokenExpired_Rejected(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	const lasts = 1500 * time.Millisecond
	keystone.know("t", lasts, nil, "")
	by := keystone.authenticator(t)
	if _, err := ask(t, by, "X-Auth-Token", "t"); err != nil {
		t.Error(err)
	}
	time.Sleep(lasts)
	// Keystone still reports the token as valid.
	_, err := ask(t, by, "X-Auth-Token", "t")
	wantRefused(t, err, "expired")
	keystone.want(t, 1, 2)
}

func TestKeystone_ExpiredTokenWithServiceToken_NotCached(t *testing.T) {
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
	// A token that is valid only with a service token is invalid without one, and the cache keeps both
	// results.
	for range 2 {
		_, err := ask(t, by, "X-Auth-Token", "expired")
		wantRefused(t, err, "expired")
	}
	keystone.want(t, 0, 1)
	if _, err := ask(t, by, "X-Auth-Token", "expired", "X-Service-Token", "nova"); err != nil {
		t.Error(err)
	}
	if keystone.expiredToo != 4 {
		t.Errorf("%d validations allowed expired tokens, want 4", keystone.expiredToo)
	}
}

func TestKeystone_CacheKey_IsTokenHash(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.know("t", time.Hour, nil, "")
	by := keystone.authenticator(t)
	if _, err := ask(t, by, "X-Auth-Token", "t"); err != nil {
		t.Error(err)
	}
	keys := by.cache.validEntry.Keys()
	if len(keys) != 1 || keys[0].sum != sha256.Sum256([]byte("t")) {
		t.Errorf("keys = %v", keys)
	}
	if keyOf("t", false) == keyOf("t", true) {
		t.Error("validations with and without expired tokens have the same key")
	}
}

func TestKeystone_ManyInvalidTokens_KeepValidEntries(t *testing.T) {
	t.Parallel()
	now, memory := time.Now(), newCache(time.Hour)
	memory.putValid(keyOf("good", false), &token{expires: now.Add(time.Hour)}, 0, now)
	for i := range 3 * maxValidTokens {
		memory.refuse(keyOf(fmt.Sprint(i), false), &auth.UnauthenticatedError{}, 0, now)
	}
	if found, _ := memory.find(keyOf("good", false), now); found == nil {
		t.Error("the valid token was evicted")
	}
	if found := memory.invalidEntry.Len(); found > maxInvalidTokens {
		t.Errorf("the cache has %d invalid tokens", found)
	}
	if _, refused := memory.find(keyOf(fmt.Sprint(3*maxValidTokens-1), false), now.Add(invalidTokenTTL)); refused != nil {
		t.Error("an invalid token is cached for longer than invalidTokenTTL")
	}
}
