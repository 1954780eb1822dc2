package fairqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
)

// model is a queue as a list of lines.
type model struct {
	Options
	running map[int]lineKey
	lines   []modelLine
	// rejected are the requests that left the queue without a slot.
	rejected map[int]bool
}

type modelLine struct {
	key lineKey
	ids []int
}

func (m *model) long() (count int) {
	for _, key := range m.running {
		if key.class == Long {
			count++
		}
	}
	return count
}

func (m *model) canRun(key lineKey) bool {
	return len(m.running) < m.Running && (key.class == Short || m.long() < m.Long)
}

func (m *model) grant() {
	for {
		place := slices.IndexFunc(m.lines, func(l modelLine) bool { return m.canRun(l.key) })
		if place < 0 {
			return
		}
		next := m.lines[place]
		m.lines = slices.Delete(m.lines, place, place+1)
		m.running[next.ids[0]] = next.key
		if next.ids = next.ids[1:]; len(next.ids) > 0 {
			m.lines = append(m.lines, next)
		}
	}
}

func (m *model) enter(id int, key lineKey) {
	if m.canRun(key) {
		m.running[id] = key
		return
	}
	waiting, longest, own := 0, 0, -1
	for place, each := range m.lines {
		waiting += len(each.ids)
		if len(each.ids) > len(m.lines[longest].ids) {
			longest = place
		}
		if each.key == key {
			own = place
		}
	}
	if waiting == m.Waiting {
		length := 0
		if own >= 0 {
			length = len(m.lines[own].ids)
		}
		if waiting == 0 || len(m.lines[longest].ids) <= length+1 {
			m.rejected[id] = true
			return
		}
		ids := m.lines[longest].ids
		m.rejected[ids[len(ids)-1]] = true
		m.lines[longest].ids = ids[:len(ids)-1]
	}
	if own < 0 {
		m.lines, own = append(m.lines, modelLine{key: key}), len(m.lines)
	}
	m.lines[own].ids = append(m.lines[own].ids, id)
}

// cancel removes a waiting request.
func (m *model) cancel(id int) {
	for place := range m.lines {
		ids := m.lines[place].ids
		if found := slices.Index(ids, id); found >= 0 {
			m.lines[place].ids = slices.Delete(slices.Clone(ids), found, found+1)
			m.rejected[id] = true
		}
	}
	m.lines = slices.DeleteFunc(m.lines, func(l modelLine) bool { return len(l.ids) == 0 })
}

func (m *model) lengthen(id int) bool {
	key := m.running[id]
	if key.class == Long || m.long() >= m.Long || slices.ContainsFunc(m.lines, func(l modelLine) bool { return l.key.class == Long }) {
		return false
	}
	m.running[id] = lineKey{key.client, Long}
	return true
}

// TestLimits_FairQueueRandomRequests_RunAsInModel compares the requests that run after each of some random operations with
// those of the model.
func TestLimits_FairQueueRandomRequests_RunAsInModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) { compareWithModel(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

// outcome is that of Enter.
type outcome struct {
	id  int
	err error
}

func compareWithModel(t *testing.T, random *rand.Rand) {
	options := Options{Running: 1 + random.IntN(4), Waiting: random.IntN(8)}
	options.Long = 1 + random.IntN(options.Running)
	q := New(options)
	want := &model{Options: options, running: map[int]lineKey{}, rejected: map[int]bool{}}
	running, rejected, cancels := map[int]lineKey{}, map[int]bool{}, map[int]context.CancelFunc{}
	keys, outcomes := map[int]lineKey{}, make(chan outcome, 100)
	for id := range 80 {
		some := slices.Sorted(maps.Keys(running))
		switch action := random.IntN(8); {
		case action < 4:
			key := lineKey{string(rune('a' + random.IntN(3))), Class(random.IntN(2))}
			var ctx context.Context
			ctx, cancels[id] = context.WithCancel(t.Context())
			keys[id] = key
			go func() { outcomes <- outcome{id, q.Enter(ctx, key.client, key.class)} }()
			want.enter(id, key)
		case action == 4 && len(some) > 0:
			of := some[random.IntN(len(some))]
			if made := running[of].class == Short && q.Lengthen(running[of].client); made != want.lengthen(of) {
				t.Fatalf("lengthened = %t, want %t", made, !made)
			} else if made {
				running[of] = want.running[of]
			}
		case action == 5 && id > 0:
			if of := random.IntN(id); cancels[of] != nil {
				cancels[of]()
				want.cancel(of)
			}
		case len(some) > 0:
			of := some[random.IntN(len(some))]
			q.Leave(running[of].client, running[of].class, 0)
			delete(running, of)
			delete(want.running, of)
		}
		want.grant()
		synctest.Wait()
		for len(outcomes) > 0 {
			if made := <-outcomes; made.err == nil {
				running[made.id] = keys[made.id]
			} else if rejected[made.id] = true; !errors.Is(made.err, ErrFull) && !errors.Is(made.err, context.Canceled) {
				t.Fatal(made.err)
			}
		}
		if got, want := fmt.Sprint(running, rejected), fmt.Sprint(want.running, want.rejected); got != want {
			t.Fatalf("after operation %d: running and rejected = %s, want %s", id, got, want)
		}
	}
	for _, cancel := range cancels {
		cancel()
	}
}
