package console_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkConsole_Pages measures the time of each page in the server with -large hosts: the median of 20 requests.
// Answers of GET /capacity may be 15 seconds old, as for all users at the same time. The funnel is not one of the pages,
// since explanations have a bound of their own.
func BenchmarkConsole_Pages(b *testing.B) {
	s := newSite(b, siteOptions{hosts: *large})
	for _, page := range pages {
		if strings.Contains(page.name, "funnel") || strings.Contains(page.name, "explanation") {
			continue
		}
		b.Run(page.name, func(b *testing.B) {
			for b.Loop() {
				times := make([]time.Duration, 20)
				for i := range times {
					begin := time.Now()
					status, body := s.get(b, strings.TrimPrefix(page.on(s), s.url), nil)
					times[i] = time.Since(begin)
					if status >= http.StatusInternalServerError {
						b.Fatalf("status = %d", status)
					}
					b.ReportMetric(float64(len(body))/1024, "KiB")
				}
				slices.SortFunc(times, func(x, y time.Duration) int { return cmp.Compare(x, y) })
				b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms/median")
			}
		})
	}
}
