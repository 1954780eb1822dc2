package oidc

import (
	"encoding/json"
	"time"

	"github.com/berthd/berth/server/identity/auth"
)

// SetNow sets the clock of an authenticator.
func (a *Authenticator) SetNow(now func() time.Time) { a.now = now }

// MinFetchInterval is the minimum interval between fetches.
const MinFetchInterval = minFetchInterval

// MaxDocument is the maximum size of a document of the issuer.
const MaxDocument = maxDocument

// Caller returns the caller that claims in JSON describe.
func (m ClaimMapping) Caller(claims string) (auth.Caller, error) {
	var set claimSet
	if err := json.Unmarshal([]byte(claims), &set); err != nil {
		return auth.Caller{}, err
	}
	return m.caller(set)
}

// MaxWaiting is the maximum number of requests that wait for a fetch.
const MaxWaiting = maxWaiting
