package badinput

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestErrors_GeneratorSeed_ReproducesRequests checks that requests depend only on the seed, so that
// a failure is reproducible.
func TestErrors_GeneratorSeed_ReproducesRequests(t *testing.T) {
	t.Parallel()
	all := byName(operations(t))
	one, same, another := dice{rand.New(rand.NewPCG(7, 1))}, dice{rand.New(rand.NewPCG(7, 1))}, dice{rand.New(rand.NewPCG(8, 1))}
	differ := 0
	for i := range 2000 {
		m, again, other := one.make(pick(one, pick(one, all))), same.make(pick(same, pick(same, all))), another.make(pick(another, pick(another, all)))
		if !bytes.Equal(m.wire(), again.wire()) || len(m.scene) != len(again.scene) {
			t.Fatalf("request %d =\n%q\nwith the same seed\n%q", i, m.wire(), again.wire())
		}
		if !bytes.Equal(m.wire(), other.wire()) {
			differ++
		}
	}
	if differ < 1900 {
		t.Errorf("different requests with another seed = %d of 2000, want more", differ)
	}
}
