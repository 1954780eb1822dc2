package explaintext_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/explaintext"
)

// ending is the JSON of a consumer that ends.
func ending(n int, allocations string) string {
	return fmt.Sprintf(`{"consumer": "c0ffee00-0000-4000-8000-00000000000%d", "until": "2026-11-29T14:20:00Z", "allocations": [%s]}`, n, allocations)
}

func TestExplain_FitsAt_SaysWhenAndForWhom(t *testing.T) {
	t.Parallel()
	const gpu, cpu = `{"provider": {"name": "gpu-01"}, "class": "VGPU", "amount": 2}`, `{"provider": {"name": "host-1"}, "class": "PCPU", "amount": 16}`
	for name, test := range map[string]struct {
		consumers         []string
		at, members, want string
	}{
		"one":          {[]string{ending(1, gpu)}, "2026-11-29T14:20:00Z", `"exact": true`, "At the earliest at 14:20 UTC, when <1> (2 VGPU on gpu-01) ends."},
		"two amounts":  {[]string{ending(1, gpu+","+cpu)}, "2026-11-29T14:20:30Z", `"exact": true`, "At the earliest at 14:20:30 UTC, when <1> (2 VGPU on gpu-01, 16 PCPU on host-1) ends."},
		"two":          {[]string{ending(1, gpu), ending(2, cpu)}, "2026-11-30T00:20:00Z", `"exact": true`, "At the earliest on 2026-11-30 at 00:20 UTC, when <1> (2 VGPU on gpu-01) and <2> (16 PCPU on host-1) end."},
		"three":        {[]string{ending(1, gpu), ending(2, gpu), ending(3, gpu)}, "2026-11-29T23:59:59.000001Z", `"exact": true`, "At the earliest on 2026-11-30 at 00:00 UTC, when <1> (2 VGPU on gpu-01), <2> (2 VGPU on gpu-01) and <3> (2 VGPU on gpu-01) end."},
		"many":         {[]string{ending(1, gpu), ending(2, gpu)}, "2026-11-29T14:20:00Z", `"exact": true, "more": 8`, "At the earliest at 14:20 UTC, when <1> (2 VGPU on gpu-01) and 9 other consumers end."},
		"other zone":   {[]string{ending(1, gpu)}, "2026-11-30T00:20:00+02:00", `"exact": true`, "At the earliest at 22:20 UTC, when <1> (2 VGPU on gpu-01) ends."},
		"not exact":    {[]string{ending(1, gpu)}, "2026-11-29T14:20:00Z", `"exact": false`, "At the latest at 14:20 UTC, when <1> (2 VGPU on gpu-01) ends. The service has not compared all trees and times."},
		"no consumers": {nil, "2026-11-29T14:20:00Z", `"exact": true`, "At the earliest at 14:20 UTC."},
	} {
		var read client.Explanation
		text := fmt.Sprintf(`{"fits_at": {"at": "%s", %s, "consumers": [%s]}}`, test.at, test.members, strings.Join(test.consumers, ","))
		if err := json.Unmarshal([]byte(text), &read); err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer("<", "c0ffee00-0000-4000-8000-00000000000", ">", "").Replace(test.want)
		if got := explaintext.FitsAt(&read, time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, text := range []string{`{}`, `{"fits_at": null}`} {
		var read client.Explanation
		if err := json.Unmarshal([]byte(text), &read); err != nil {
			t.Fatal(err)
		}
		if got := explaintext.FitsAt(&read, time.Time{}); got != "" {
			t.Errorf("%s: %q, want nothing", text, got)
		}
	}
}
