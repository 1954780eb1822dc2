package server_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
)

// spread runs b.N calls on concurrent clients, and reports the number per second.
func spread(b *testing.B, run func(client, n int)) {
	b.Helper()
	var numbers atomic.Int64
	var clients sync.WaitGroup
	b.ResetTimer()
	for client := range concurrentClients {
		clients.Go(func() {
			for n := numbers.Add(1); n <= int64(b.N); n = numbers.Add(1) {
				run(client, int(n))
			}
		})
	}
	clients.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
}

// BenchmarkHotspots measures claims of 16 clients on one provider, and on 16 providers, to show the cost
// of contention. Then clients query candidates before each claim, in a cloud with free capacity. Test
// databases do not wait for the disk, so the results are only comparable with each other.
func BenchmarkHotspots(b *testing.B) {
	b.Run("one provider", func(b *testing.B) {
		h := newHotspot(b)
		host := h.host(1 << 30)
		spread(b, func(_, _ int) { h.claim(host, uuid.New(), 1) })
	})
	b.Run("a provider each", func(b *testing.B) {
		h := newHotspot(b)
		var hosts []uuid.UUID
		for range concurrentClients {
			hosts = append(hosts, h.host(1<<30))
		}
		spread(b, func(client, _ int) { h.claim(hosts[client], uuid.New(), 1) })
	})
	b.Run("candidates, then a claim", func(b *testing.B) {
		h := newHotspot(b)
		for range 2 * concurrentClients {
			h.host(1 << 30)
		}
		spread(b, func(_, n int) {
			offered := h.candidates()
			h.claim(offered[n%len(offered)], uuid.New(), 1)
		})
	})
}
