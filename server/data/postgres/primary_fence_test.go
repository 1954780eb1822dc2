package postgres

import "testing"

func TestFailover_OlderTimeline_IsRejected(t *testing.T) {
	t.Parallel()
	var fence primaryFence
	for _, step := range []struct {
		name, system, timeline string
		changed, rejected      bool
	}{
		{"the first connection", "a", "00000009", false, false},
		{"another to the same primary", "a", "00000009", false, false},
		{"a standby was promoted", "a", "0000000A", true, false},
		{"the former primary", "a", "00000009", false, true},
		{"the former primary again", "a", "00000009", false, true},
		{"the current primary", "a", "0000000A", false, false},
		{"another database cluster", "b", "00000001", true, false},
		{"a standby of that one", "b", "00000002", true, false},
	} {
		changed, err := fence.meet(step.system, step.timeline)
		if changed != step.changed || (err != nil) != step.rejected {
			t.Errorf("%s: changed = %v, error = %v, want changed = %v, an error = %v", step.name, changed, err, step.changed, step.rejected)
		}
	}
}
