package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// trickle is a body that returns some bytes after each delay.
type trickle struct {
	sizes []int
	every time.Duration
}

func (t *trickle) Read(p []byte) (int, error) {
	if len(t.sizes) == 0 {
		return 0, io.EOF
	}
	time.Sleep(t.every)
	size := t.sizes[0]
	t.sizes = t.sizes[1:]
	return size, nil
}

// deadlines is a writer that records the deadlines set.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// TestLimits_BodyRate_CountsWhileTheServerReads reads 3 s of 1000 bytes each, with a pause of the server,
// at a rate of 500: each second of the client earns two.
func TestLimits_BodyRate_CountsWhileTheServerReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, "/", &trickle{sizes: []int{1000, 1000, 1000}, every: time.Second})
		rated(w, r, 500)
		begun := time.Now()
		buffer := make([]byte, 1000)
		for range 3 {
			if _, err := r.Body.Read(buffer); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second) // a pause of the server
		}
		if _, err := r.Body.Read(buffer); err != io.EOF {
			t.Fatal(err)
		}
		var left []time.Duration
		for i, at := range w.set[:4] {
			left = append(left, at.Sub(begun.Add(time.Duration(i)*11*time.Second)))
		}
		for i, want := range []time.Duration{5 * time.Second, 6 * time.Second, 7 * time.Second, 8 * time.Second} {
			if left[i] != want {
				t.Errorf("read %d: deadline in %s, want %s", i, left[i], want)
			}
		}
		if last := w.set[len(w.set)-1]; !last.IsZero() || len(w.set) != 5 {
			t.Errorf("deadlines = %v, want none at the end", w.set)
		}
	})
}
