package store_test

import (
	"context"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/model"
	"github.com/berthd/berth/server/data/store"
)

// expiredAt is the time to which a sequence moves the end of a lease: the end of each other one is later.
var expiredAt = time.Date(2001, time.January, 1, 0, 0, 0, 0, time.UTC)

// drawLease draws the lease of a write, for the model and for the store: mostly none is given.
func drawLease(t *rapid.T) (model.GivenLease, *store.LeaseTerms) {
	day, year := int32(86_400), time.Now().AddDate(1, 0, 0)
	switch rapid.IntRange(0, 7).Draw(t, "lease") {
	case 0:
		return model.GivenLease{IsGiven: true}, &store.LeaseTerms{}
	case 1:
		return model.GivenLease{IsGiven: true, Lease: model.Lease{IsRenewable: true}}, &store.LeaseTerms{Seconds: &day}
	case 2:
		return model.GivenLease{IsGiven: true, Lease: model.Lease{HasUntil: true}}, &store.LeaseTerms{Until: &year}
	case 3:
		return model.GivenLease{IsGiven: true, Lease: model.Lease{IsRenewable: true, HasUntil: true}}, &store.LeaseTerms{Seconds: &day, Until: &year}
	}
	return model.GivenLease{}, nil
}

func shownLease(of *store.Lease) model.ShownLease {
	if of == nil {
		return model.ShownLease{IsShown: true}
	}
	return model.ShownLease{IsShown: true, Lease: model.Lease{
		IsRenewable: of.Seconds != nil, HasUntil: of.Until != nil, IsExpired: of.ExpiresAt.Equal(expiredAt),
	}}
}

// leaseActions are those of leases. The first one is the clock: it changes rows.
func (m *worldMachine) leaseActions(ctx context.Context) map[string]func(*rapid.T) {
	drawConsumer := func(t *rapid.T, of func(model.Consumer) bool) int {
		all := numbers(len(m.consumers), always)
		return anyOf(t, slices.DeleteFunc(slices.Clone(all), func(who int) bool { return !of(m.state.Consumers[who]) }), all, "consumer")
	}
	accepted := func(t *rapid.T, operation model.Operation, show func(*model.Observed)) {
		answer := model.Accepted()
		show(&answer.Observed)
		m.judge(t, operation, answer)
	}
	return map[string]func(*rapid.T){
		"end a lease": func(t *rapid.T) {
			who := drawConsumer(t, func(of model.Consumer) bool { return of.Lease != model.Lease{} })
			done, err := m.db.Pool.Exec(ctx, `UPDATE leases SET expires_at = $2, due = $2
				WHERE consumer_id = (SELECT id FROM consumers WHERE uuid = $1)`, m.consumers[who], expiredAt)
			m.must(err)
			accepted(t, model.ExpireLease{Consumer: who}, func(seen *model.Observed) { seen.WasLeased = done.RowsAffected() > 0 })
			m.tally.note("end a lease", "")
		},
		"renew leases": func(t *rapid.T) {
			renewals, err := m.LeaseRenew(ctx, m.consumers, nil)
			m.must(err)
			for who, renewal := range renewals {
				accepted(t, model.RenewLease{Consumer: who}, func(seen *model.Observed) {
					switch {
					case renewal.Seconds > 0:
						seen.Renewal = model.Renewed
					case renewal.Exists:
						seen.Renewal = model.WithoutLease
					default:
						seen.Renewal = model.Gone
					}
				})
			}
			m.tally.note("renew leases", "")
		},
		"remove expired consumers": func(t *rapid.T) {
			var removed []store.RemovedConsumer
			for more := true; more; { // also what earlier sequences have left
				var some []store.RemovedConsumer
				var err error
				some, more, err = m.LeaseExpire(ctx)
				m.must(err)
				removed = append(removed, some...)
			}
			for i := range removed {
				if !slices.Contains(m.consumers, removed[i].Consumer) {
					continue
				}
				accepted(t, model.RemoveExpired{Consumer: slices.Index(m.consumers, removed[i].Consumer)}, func(seen *model.Observed) {
					seen.Generation = removed[i].Generation
					for _, one := range removed[i].Allocations {
						seen.Allocations[m.number(one.Provider)][slices.Index(m.classes, one.Class)] = one.Amount
					}
				})
				m.tally.note("remove expired consumers", "of which one was of the sequence")
			}
			m.tally.note("remove expired consumers", "")
			for who := range m.state.Consumers {
				if m.state.Consumers[who].Lease.IsExpired {
					t.Fatalf("consumer %d is not removed", who)
				}
			}
		},
		"patch a lease": func(t *rapid.T) {
			who := drawConsumer(t, func(of model.Consumer) bool { return of.Generation > 0 })
			w := model.PatchAllocations{Consumer: who}
			patch := store.AllocationPatch{Consumer: m.consumers[who]}
			for w.Lease, patch.Lease = drawLease(t); !w.Lease.IsGiven; w.Lease, patch.Lease = drawLease(t) {
			}
			patched, err := m.AllocationPatch(ctx, patch)
			answer := m.refusal(w, err)
			if err == nil {
				m.showConsumer(&answer.Observed, &patched)
			}
			m.judge(t, w, answer)
			m.tally.note("patch a lease", outcome(err))
		},
	}
}
