package keystone

import (
	"crypto/sha256"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/berthd/berth/server/auth"
)

// How many tokens are remembered. An entry has about a kilobyte. Those that are good
// for nothing have a place of their own: whoever makes them up must not be able to
// drive the good ones out.
const (
	goodTokens = 10_000
	badTokens  = 1_000
)

// badTime is how long a token is remembered that Keystone does not know. It is
// short: a token that is new may take a moment to be known to every Keystone.
const badTime = 5 * time.Second

// key is how a token is remembered: by its hash, so that nothing which reads our
// memory finds tokens there, and by the question, since an expired token may be
// valid for a service and for nobody else.
type key struct {
	sum          [sha256.Size]byte
	allowExpired bool
}

func keyOf(text string, allowExpired bool) key {
	return key{sha256.Sum256([]byte(text)), allowExpired}
}

// flight is the key of a question that is being asked.
func (k key) flight() string {
	if k.allowExpired {
		return string(k.sum[:]) + "e"
	}
	return string(k.sum[:])
}

type good struct {
	token *token
	until time.Time
}

type bad struct {
	refused *auth.Refused
	until   time.Time
}

// cache remembers what Keystone said of tokens.
type cache struct {
	lasts time.Duration
	good  *lru.Cache[key, good]
	bad   *lru.Cache[key, bad]
}

// newCache remembers for so long; 0 or less: not at all.
func newCache(lasts time.Duration) *cache {
	made := &cache{lasts: lasts}
	// They fail for sizes below one only.
	made.good, _ = lru.New[key, good](goodTokens)
	made.bad, _ = lru.New[key, bad](badTokens)
	return made
}

// find gives what is remembered; both are nil if nothing is.
func (c *cache) find(of key, now time.Time) (*token, *auth.Refused) {
	if found, ok := c.good.Get(of); ok && now.Before(found.until) {
		return found.token, nil
	}
	if found, ok := c.bad.Get(of); ok && now.Before(found.until) {
		return nil, found.refused
	}
	return nil, nil
}

// keep remembers a token, never beyond its end. One that has expired already and was
// accepted all the same is asked for each time.
func (c *cache) keep(of key, found *token, now time.Time) {
	until := now.Add(c.lasts)
	if found.expires.Before(until) {
		until = found.expires
	}
	if now.Before(until) {
		c.good.Add(of, good{found, until})
	}
}

// refuse remembers that a token is good for nothing.
func (c *cache) refuse(of key, why *auth.Refused, now time.Time) {
	if until := now.Add(min(c.lasts, badTime)); now.Before(until) {
		c.bad.Add(of, bad{why, until})
	}
}
