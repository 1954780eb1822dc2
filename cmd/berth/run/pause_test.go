package run

import (
	"testing"
	"time"
)

func TestRun_Pauses_GrowAndEndWhenPlacesDo(t *testing.T) {
	t.Parallel()
	const long = time.Hour
	for name, c := range map[string]struct {
		failed      int
		left        time.Duration
		fitsIn      *time.Duration
		least, most time.Duration
	}{
		"the first":                        {0, long, nil, minPause, minPause},
		"the third":                        {2, long, nil, time.Second, 2 * time.Second},
		"the hundredth":                    {100, long, nil, maxPause / 2, maxPause},
		"before the end of --wait":         {100, time.Second, nil, time.Second, time.Second},
		"before a consumer ends":           {100, long, new(3 * time.Second), 3 * time.Second, 3*time.Second + minPause},
		"long before":                      {100, long, new(time.Hour), maxPause / 2, maxPause},
		"while a removal is due":           {100, long, new(-3 * time.Second), minPause, 2 * minPause},
		"when the removal did not help":    {100, long, new(-2 * removalDelay), maxPause / 2, maxPause},
		"before it ends, and that of wait": {100, time.Second, new(3 * time.Second), time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 100 {
				if pause := pauseAfter(c.failed, c.left, c.fitsIn); pause < c.least || pause > c.most {
					t.Fatalf("pause = %s, want %s to %s", pause, c.least, c.most)
				}
			}
		})
	}
}
