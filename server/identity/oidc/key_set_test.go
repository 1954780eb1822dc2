package oidc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/berthd/berth/internal/test/oidcprovider"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/oidc"
)

// waitFor fails the test unless a condition becomes true.
func waitFor(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after 30 s: no %s", what)
		}
	}
}

// causeOf returns the cause of a 503.
func causeOf(t testing.TB, err error) string {
	t.Helper()
	var away *auth.Unavailable
	if !errors.As(err, &away) || away.Service != "OpenID Connect issuer" || away.Cause != "keys" {
		t.Errorf("error = %#v, want an Unavailable about the keys of the issuer", err)
		return ""
	}
	return away.Error()
}

// rig is an authenticator and its provider, with tokens that are valid at the time of the clock.
type rig struct {
	*oidc.Authenticator
	provider *oidcprovider.Provider
	clock    *clock
}

func newRig(t testing.TB, change func(*oidc.Options)) rig {
	t.Helper()
	provider := oidcprovider.Start(t, ada)
	changed := options(provider.Issuer)
	if change != nil {
		change(&changed)
	}
	made, stopped := newAuthenticator(t, changed)
	return rig{made, provider, stopped}
}

// token returns a valid token with a key id; empty: that of the current key.
func (r rig) token(t testing.TB, keyID string) string {
	t.Helper()
	if keyID == "" {
		keyID = r.provider.KeyID()
	}
	claims := goodClaims(r.provider.Issuer, r.clock.Now())
	claims["exp"] = r.clock.Now().Add(24 * time.Hour).Unix()
	return r.provider.Sign(t, map[string]any{"kid": keyID}, claims)
}

// errorOf returns the error of a request with a token.
func (r rig) errorOf(t testing.TB, token string) error {
	t.Helper()
	_, err := authenticate(t, r.Authenticator, token)
	return err
}

const noKey = "the issuer has no key with the key id and algorithm of the token"

func TestAuth_OIDCKeyRotation_NeedsNoRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	before := r.token(t, "")
	if err := r.errorOf(t, before); err != nil {
		t.Fatal(err)
	}
	r.provider.Rotate(t, jose.ES256)
	after := r.token(t, "")
	if got := reasonOf(t, r.errorOf(t, after)); got != noKey {
		t.Errorf("within the minimum interval: reason = %s, want %s", got, noKey)
	}
	r.clock.advance(oidc.MinFetchInterval)
	for _, text := range []string{after, before, after} {
		if err := r.errorOf(t, text); err != nil {
			t.Errorf("after the rotation: %v", err)
		}
	}
	if got, want := r.Fetches(), map[string]int64{"success": 2, "error": 0}; !maps.Equal(got, want) {
		t.Errorf("fetches = %v, want %v", got, want)
	}
}

func TestAuth_OIDCRemovedKey_EndsWithNextRefresh(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *oidc.Options) { o.RefreshInterval = time.Minute })
	before := r.token(t, "")
	if err := r.errorOf(t, before); err != nil {
		t.Fatal(err)
	}
	r.provider.Rotate(t, jose.ES256)
	r.provider.Retire()
	r.clock.advance(time.Minute - time.Second)
	if err := r.errorOf(t, before); err != nil {
		t.Errorf("before the refresh: %v", err)
	}
	r.clock.advance(time.Second)
	// This request starts the refresh, but does not wait for it.
	if err := r.errorOf(t, before); err != nil {
		t.Errorf("during the refresh: %v", err)
	}
	waitFor(t, "refresh", func() bool { return r.Fetches()["success"] == 2 })
	waitFor(t, "end of the removed key", func() bool { return r.errorOf(t, before) != nil })
	if got := reasonOf(t, r.errorOf(t, before)); got != noKey {
		t.Errorf("after the refresh: reason = %s, want %s", got, noKey)
	}
	if err := r.errorOf(t, r.token(t, "")); err != nil {
		t.Errorf("a token of the new key: %v", err)
	}
}

func TestAuth_OIDCIssuerDown_Returns503UntilItResponds(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.provider.Stop()
	token := r.token(t, "")
	for range 3 {
		if got := causeOf(t, r.errorOf(t, token)); !strings.Contains(got, "cannot read the discovery document of "+r.provider.Issuer) {
			t.Errorf("cause = %s", got)
		}
	}
	if got := r.Fetches()["error"]; got != 1 {
		t.Errorf("failed fetches = %d, want 1 in the minimum interval", got)
	}
	if err := r.Check(t.Context()); err == nil {
		t.Error("Check: no error")
	}
	r.provider.Resume()
	r.clock.advance(oidc.MinFetchInterval)
	if err := r.errorOf(t, token); err != nil {
		t.Errorf("after the issuer has responded: %v", err)
	}
	if got, want := r.Validations(), map[string]int64{"valid": 1, "invalid": 0, "claim_missing": 0, "unavailable": 3}; !maps.Equal(got, want) {
		t.Errorf("validations = %v, want %v", got, want)
	}
}

func TestAuth_OIDCIssuerDownLater_KnownKeysLastAnHour(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	token := r.token(t, "")
	if err := r.errorOf(t, token); err != nil {
		t.Fatal(err)
	}
	r.provider.Stop()
	r.clock.advance(59 * time.Minute)
	if err := r.errorOf(t, token); err != nil {
		t.Errorf("a token of a known key: %v", err)
	}
	waitFor(t, "failed refresh", func() bool { return r.Fetches()["error"] == 1 })
	r.clock.advance(oidc.MinFetchInterval)
	causeOf(t, r.errorOf(t, r.token(t, "key-99")))
	if err := r.errorOf(t, token); err != nil {
		t.Errorf("a token of a known key, after another fetch has failed: %v", err)
	}
	r.clock.advance(time.Minute)
	causeOf(t, r.errorOf(t, token))
	r.provider.Resume()
	r.clock.advance(oidc.MinFetchInterval)
	if err := r.errorOf(t, token); err != nil {
		t.Errorf("after the issuer has responded: %v", err)
	}
}

// TestAuth_OIDCFloodOfUnknownKeys_FetchesOncePerInterval sends tokens with random key ids, and tokens of a
// known key beside them.
func TestAuth_OIDCFloodOfUnknownKeys_FetchesOncePerInterval(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	known := r.token(t, "")
	const senders, intervals = 20, 3
	for range intervals {
		var sending sync.WaitGroup
		for i := range senders {
			sending.Go(func() {
				if got := reasonOf(t, r.errorOf(t, r.token(t, fmt.Sprintf("made-up-%d", i)))); got != noKey {
					t.Errorf("reason = %s, want %s", got, noKey)
				}
				if err := r.errorOf(t, known); err != nil {
					t.Errorf("a token of a known key: %v", err)
				}
			})
		}
		sending.Wait()
		r.clock.advance(oidc.MinFetchInterval)
	}
	if got := r.Fetches(); got["success"] != intervals || got["error"] != 0 {
		t.Errorf("fetches = %v, want %d", got, intervals)
	}
	// A fetch is the discovery document and the keys.
	if got := r.provider.Requests(); got != 2*intervals {
		t.Errorf("requests to the issuer = %d, want %d", got, 2*intervals)
	}
}

func TestAuth_OIDCSlowIssuer_WaitsNoLongerThanTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *oidc.Options) { o.Timeout = 50 * time.Millisecond })
	token := r.token(t, "")
	r.provider.Front(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	})
	var sending sync.WaitGroup
	for range 20 {
		sending.Go(func() { causeOf(t, r.errorOf(t, token)) })
	}
	sending.Wait()
	if got := r.Fetches()["error"]; got != 1 {
		t.Errorf("failed fetches = %d, want 1", got)
	}
	// A client that leaves does not wait for the fetch.
	slow := newRig(t, func(o *oidc.Options) { o.Timeout = time.Minute })
	slow.provider.Front(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	})
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := slow.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

func TestAuth_OIDCManyWaiting_FurtherReturn503AtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *oidc.Options) { o.Timeout = time.Minute })
	token, respond := r.token(t, ""), make(chan struct{})
	r.provider.Front(func(provider http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-respond
			provider.ServeHTTP(w, r)
		})
	})
	var waiting sync.WaitGroup
	for range oidc.MaxWaiting {
		waiting.Go(func() {
			if err := r.errorOf(t, token); err != nil {
				t.Errorf("a request that waited: %v", err)
			}
		})
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	const full = "too many requests wait for the keys of the issuer"
	waitFor(t, "full queue", func() bool { return r.Check(left).Error() == full })
	if got := causeOf(t, r.errorOf(t, token)); got != full {
		t.Errorf("cause = %s, want %s", got, full)
	}
	close(respond)
	waiting.Wait()
}

func TestAuth_OIDCTokenWithoutKeyID_NeedsSingleKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	token := r.provider.Sign(t, nil, goodClaims(r.provider.Issuer, r.clock.Now()))
	if err := r.errorOf(t, token); err != nil {
		t.Errorf("with one key: %v", err)
	}
	r.provider.Rotate(t, jose.ES256)
	token = r.provider.Sign(t, nil, goodClaims(r.provider.Issuer, r.clock.Now()))
	r.clock.advance(oidc.MinFetchInterval)
	if got := reasonOf(t, r.errorOf(t, token)); got != noKey {
		t.Errorf("with two keys: reason = %s, want %s", got, noKey)
	}
}
