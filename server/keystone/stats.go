package keystone

import "sync/atomic"

// stats count how tokens were found out about.
type stats struct{ known, knownBad, valid, refused, failed atomic.Int64 }

// Stats tells how often tokens were found out about, by how: "remembered" and
// "remembered_refused" without asking Keystone, "valid" and "refused" by asking it;
// "failed": it could not be asked.
func (a *Authenticator) Stats() map[string]int64 {
	return map[string]int64{
		"remembered": a.stats.known.Load(), "remembered_refused": a.stats.knownBad.Load(),
		"valid": a.stats.valid.Load(), "refused": a.stats.refused.Load(), "failed": a.stats.failed.Load(),
	}
}
