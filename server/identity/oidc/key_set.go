package oidc

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"github.com/berthd/berth/server/identity/auth"
)

// minFetchInterval is the minimum interval between fetches, also after a failure. A client can send tokens
// with random key ids, and each of them might be signed with a new key.
const minFetchInterval = 5 * time.Second

// maxWaiting bounds the requests that wait for a fetch; further requests get 503 at once.
const maxWaiting = 1024

// keySet is the public keys of the issuer as of the last fetch. One fetch runs at a time, in the background;
// requests wait for it only if they need it. It is safe for concurrent use.
type keySet struct {
	source                   keySource
	timeout, refreshInterval time.Duration
	maxAge, retryInterval    time.Duration
	stats                    *stats
	log                      *slog.Logger
	now                      func() time.Time
	flight                   singleflight.Group
	// waiting has room for one entry per request that waits for a fetch.
	waiting chan struct{}
	mutex   sync.Mutex
	held    heldKeys
}

// heldKeys is the result of the last fetches.
type heldKeys struct {
	keys []jose.JSONWebKey
	// fetched is the time of the last successful fetch, attempted the end of the last one, and failure its
	// error.
	fetched, attempted time.Time
	failure            error
}

func (s *keySet) current() heldKeys {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.held
}

// candidates returns the keys that may have signed a token with the given header; none if the issuer has no
// such key. Its error is an *auth.Unavailable.
func (s *keySet) candidates(ctx context.Context, header jose.Header) ([]jose.JSONWebKey, error) {
	held := s.current()
	age := s.now().Sub(held.fetched)
	if found := held.match(header); len(found) > 0 && !held.fetched.IsZero() && age < s.maxAge {
		if age >= s.refreshInterval && s.mayFetch(held) {
			s.start()
		}
		return found, nil
	}
	held, err := s.fetch(ctx)
	if err != nil {
		return nil, &auth.Unavailable{Service: serviceName, Cause: "keys", Err: err}
	}
	return held.match(header), nil
}

// serviceName is the name of the issuer in the detail of a 503.
const serviceName = "OpenID Connect issuer"

// match returns the keys with the key id of the header and a suitable algorithm. A token without a key id
// is ambiguous unless the issuer has one key (OpenID Connect Core 1.0, "Rotation of Asymmetric Signing Keys").
func (h heldKeys) match(header jose.Header) []jose.JSONWebKey {
	if header.KeyID == "" && len(h.keys) != 1 {
		return nil
	}
	var found []jose.JSONWebKey
	for _, key := range h.keys {
		named := header.KeyID == "" || key.KeyID == header.KeyID
		if named && (key.Algorithm == "" || key.Algorithm == header.Algorithm) {
			found = append(found, key)
		}
	}
	return found
}

// mayFetch reports whether the last fetch was long enough ago.
func (s *keySet) mayFetch(held heldKeys) bool {
	return held.attempted.IsZero() || s.now().Sub(held.attempted) >= s.retryInterval
}

// fetch returns the result of a fetch that has ended within the retry interval, or of a new one.
func (s *keySet) fetch(ctx context.Context) (heldKeys, error) {
	if held := s.current(); !s.mayFetch(held) {
		return held, held.failure
	}
	select {
	case s.waiting <- struct{}{}:
		defer func() { <-s.waiting }()
	default:
		return heldKeys{}, errors.New("too many requests wait for the keys of the issuer")
	}
	select {
	case result := <-s.start():
		held := result.Val.(heldKeys)
		return held, held.failure
	case <-ctx.Done():
		return heldKeys{}, ctx.Err()
	}
}

// start starts a fetch unless one is running, and returns the channel that receives its result, which has
// the type heldKeys.
func (s *keySet) start() <-chan singleflight.Result {
	return s.flight.DoChan("keys", func() (any, error) { return s.load(), nil })
}

// load fetches the keys, unless another fetch has just ended. After a failure it keeps the previous keys.
func (s *keySet) load() heldKeys {
	held := s.current()
	if !s.mayFetch(held) {
		return held
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	keys, err := s.source.fetch(ctx)
	held.attempted, held.failure = s.now(), err
	if err == nil {
		held.keys, held.fetched = keys, held.attempted
		s.stats.fetched.Add(1)
	} else {
		s.stats.fetchFailed.Add(1)
		if s.log != nil {
			s.log.Warn("cannot fetch the keys of the OpenID Connect issuer", "issuer", s.source.issuer, "cause", err.Error())
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.held = held
	return held
}
