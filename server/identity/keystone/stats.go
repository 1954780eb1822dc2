package keystone

import "sync/atomic"

// stats counts token validations by result.
type stats struct {
	known, knownBad, malformed, valid, refused, failed atomic.Int64
	// These count requests, not tokens.
	circuitOpen, queueFull, timedOut atomic.Int64
}

// Stats returns the number of token validations by result: "cache_hit" and "cache_hit_invalid" from the token
// cache; "valid" and "invalid" by Keystone; "malformed" without a request to Keystone, because Keystone issues no
// such token; "error" if the request to Keystone failed. "circuit_open", "queue_full" and "timed_out" count requests
// that were answered 503 without a request to Keystone.
func (a *Authenticator) Stats() map[string]int64 {
	return map[string]int64{
		"cache_hit": a.stats.known.Load(), "cache_hit_invalid": a.stats.knownBad.Load(), "malformed": a.stats.malformed.Load(),
		"valid": a.stats.valid.Load(), "invalid": a.stats.refused.Load(), "error": a.stats.failed.Load(),
		"circuit_open": a.stats.circuitOpen.Load(), "queue_full": a.stats.queueFull.Load(), "timed_out": a.stats.timedOut.Load(),
	}
}

// Validations returns how many token validations are "running" and how many requests are
// "queued" for one.
func (a *Authenticator) Validations() map[string]int64 {
	state := a.queue.State()
	return map[string]int64{"running": int64(state.Running), "queued": int64(state.Waiting)}
}
