package server_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
)

// spread lets the herd do something b.N times, and tells how often a second.
func spread(b *testing.B, run func(client, n int)) {
	b.Helper()
	var numbers atomic.Int64
	var clients sync.WaitGroup
	b.ResetTimer()
	for client := range herd {
		clients.Go(func() {
			for n := numbers.Add(1); n <= int64(b.N); n = numbers.Add(1) {
				run(client, int(n))
			}
		})
	}
	clients.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
}

// BenchmarkHotspots claims with 16 clients of one provider, and of as many as there are
// clients, to tell what it costs that all want the same. Then schedulers ask for
// candidates before each claim, in a cloud that has room. The databases of tests do not
// wait for the disk: compare the lines with each other only.
func BenchmarkHotspots(b *testing.B) {
	b.Run("one provider", func(b *testing.B) {
		h := newHotspot(b)
		host := h.host(1 << 30)
		spread(b, func(_, _ int) { h.claim(host, uuid.New(), 1) })
	})
	b.Run("a provider each", func(b *testing.B) {
		h := newHotspot(b)
		var hosts []uuid.UUID
		for range herd {
			hosts = append(hosts, h.host(1<<30))
		}
		spread(b, func(client, _ int) { h.claim(hosts[client], uuid.New(), 1) })
	})
	b.Run("candidates, then a claim", func(b *testing.B) {
		h := newHotspot(b)
		for range 2 * herd {
			h.host(1 << 30)
		}
		spread(b, func(_, n int) {
			offered := h.candidates()
			h.claim(offered[n%len(offered)], uuid.New(), 1)
		})
	})
}
