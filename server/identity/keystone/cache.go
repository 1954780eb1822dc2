package keystone

import (
	"crypto/sha256"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/berthd/berth/server/identity/auth"
)

// The sizes of the token cache. An entry takes about a kilobyte. Invalid tokens have a cache of their own,
// so that a client cannot evict valid tokens by sending random ones.
const (
	maxValidTokens   = 10_000
	maxInvalidTokens = 1_000
)

// invalidTokenTTL is how long an invalid token is cached. It is short, because a new token may take a
// moment to reach every Keystone server.
const invalidTokenTTL = 5 * time.Second

// key identifies a token in the cache. It contains a hash instead of the token, so that a memory dump
// shows no tokens, and whether the request allowed expired tokens, since an expired token may be valid
// only together with a service token.
type key struct {
	sum          [sha256.Size]byte
	allowExpired bool
}

func keyOf(text string, allowExpired bool) key {
	return key{sha256.Sum256([]byte(text)), allowExpired}
}

type validEntry struct {
	token *token
	until time.Time
}

type invalidEntry struct {
	refused *auth.UnauthenticatedError
	until   time.Time
}

// cache is the token cache: it stores the results of token validations.
type cache struct {
	lasts        time.Duration
	validEntry   *lru.Cache[key, validEntry]
	invalidEntry *lru.Cache[key, invalidEntry]

	// epoch counts how often the cache was emptied. The mutex prevents results of validations that began
	// earlier from being added afterwards.
	mutex sync.RWMutex
	epoch int
}

// newCache returns a cache whose entries last for the given time; 0 or less disables it.
func newCache(lasts time.Duration) *cache {
	result := &cache{lasts: lasts}
	// lru.New fails only for sizes below one.
	result.validEntry, _ = lru.New[key, validEntry](maxValidTokens)
	result.invalidEntry, _ = lru.New[key, invalidEntry](maxInvalidTokens)
	return result
}

// find returns the cached result for a token: the token if it is valid, an error if it is invalid, or nil
// for both if there is no entry.
func (c *cache) find(of key, now time.Time) (*token, *auth.UnauthenticatedError) {
	if found, ok := c.validEntry.Get(of); ok && now.Before(found.until) {
		return found.token, nil
	}
	if found, ok := c.invalidEntry.Get(of); ok && now.Before(found.until) {
		return nil, found.refused
	}
	return nil, nil
}

// putValid caches a valid token until it expires at the latest. A token that has expired and was accepted
// nevertheless is not cached. epoch is that at which the validation began.
func (c *cache) putValid(of key, found *token, epoch int, now time.Time) {
	until := now.Add(c.lasts)
	if found.expires.Before(until) {
		until = found.expires
	}
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	if epoch == c.epoch && now.Before(until) {
		c.validEntry.Add(of, validEntry{found, until})
	}
}

// refuse caches that a token is invalid.
func (c *cache) refuse(of key, why *auth.UnauthenticatedError, epoch int, now time.Time) {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	if until := now.Add(min(c.lasts, invalidTokenTTL)); epoch == c.epoch && now.Before(until) {
		c.invalidEntry.Add(of, invalidEntry{why, until})
	}
}

func (c *cache) currentEpoch() int {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	return c.epoch
}

// empty removes all tokens and increments the epoch. It returns the number of valid tokens that it
// removed.
func (c *cache) empty() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.epoch++
	held := c.validEntry.Len()
	c.validEntry.Purge()
	c.invalidEntry.Purge()
	return held
}
