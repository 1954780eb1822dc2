package route

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimits_BodyBudget_ServesInOrderAndOneBeyond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		budget := NewBudget(100, 10, time.Minute)
		grow := func(h *Hold, by int64) <-chan error {
			done := make(chan error, 1)
			go func() { done <- h.Grow(context.Background(), by) }()
			synctest.Wait()
			return done
		}
		granted := func(done <-chan error) bool {
			synctest.Wait()
			select {
			case err := <-done:
				return err == nil
			default:
				return false
			}
		}
		first, second, third, fourth, fifth := budget.Hold(), budget.Hold(), budget.Hold(), budget.Hold(), budget.Hold()
		if !granted(grow(first, 60)) || !granted(grow(second, 30)) || !granted(grow(second, 60)) {
			t.Fatal("want holds of 60 and 30 within the budget, and 60 more to exceed it")
		}
		waits, later := grow(third, 50), grow(fourth, 45)
		if granted(waits) || granted(later) {
			t.Fatal("want two holds above the budget to wait")
		}
		if !granted(grow(fifth, 10)) || !granted(grow(second, 1000)) {
			t.Fatal("want a hold within the budget to pass, and the exempt one to get all it needs")
		}
		if usage := budget.Usage(); usage.Bytes != 60+1090+10 || usage.Waiting != 2 {
			t.Errorf("usage = %+v, want 1160 bytes and 2 waiting", usage)
		}
		second.Release()
		if !granted(waits) || granted(later) {
			t.Error("want the first waiting hold to become the exempt one, and the next to wait")
		}
		first.Release()
		if !granted(later) {
			t.Error("want the next hold within the budget")
		}
		for _, hold := range []*Hold{third, fourth, fifth} {
			hold.Release()
		}
		if usage := budget.Usage(); usage.Bytes != 0 || usage.Waiting != 0 {
			t.Errorf("usage = %+v, want 0 bytes", usage)
		}
	})
}

func TestLimits_BodyBudgetFull_RejectsAfterTheQueueAndTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		budget := NewBudget(100, 2, time.Second)
		holder := budget.Hold()
		if err := holder.Grow(t.Context(), 200); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 2)
		left, leave := context.WithCancel(t.Context())
		go func() { ended <- budget.Hold().Grow(left, 101) }()
		synctest.Wait()
		go func() { ended <- budget.Hold().Grow(t.Context(), 101) }()
		synctest.Wait()
		if err := budget.Hold().Grow(t.Context(), 101); !errors.Is(err, ErrBudgetQueue) {
			t.Errorf("third: %v, want %v", err, ErrBudgetQueue)
		}
		leave()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("error after cancellation = %v, want %v", err, context.Canceled)
		}
		if err := <-ended; !errors.Is(err, ErrBudgetWait) {
			t.Errorf("second: %v, want %v", err, ErrBudgetWait)
		}
		if usage := budget.Usage(); usage.Rejected != 2 || usage.Waiting != 0 || usage.Bytes != 200 {
			t.Errorf("usage = %+v, want 2 rejected and 200 bytes", usage)
		}
		holder.Release()
	})
}
