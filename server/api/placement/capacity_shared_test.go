package placement

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// computation is a compute function that takes a second and counts its calls.
type computation struct {
	calls  int
	length int
	err    error
}

func (c *computation) run(ctx context.Context) (capacityResponse, error) {
	c.calls++
	began := time.Now()
	select {
	case <-time.After(time.Second):
		return capacityResponse{asOf: began, encoded: bytes.Repeat([]byte("x"), c.length)}, c.err
	case <-ctx.Done():
		return capacityResponse{}, ctx.Err()
	}
}

func TestInventory_EqualCapacities_ComputedOnceIn15Seconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared, computed := newSharedAnswers(), &computation{}
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				if found, err := shared.get(t.Context(), "a", computed.run); err != nil || time.Since(found.asOf) > time.Second {
					t.Errorf("age = %v, error %v", time.Since(found.asOf), err)
				}
			})
		}
		group.Wait()
		if computed.calls != 1 {
			t.Errorf("computations for 100 requests = %d, want 1", computed.calls)
		}
		for range 60 {
			time.Sleep(time.Second)
			asked := time.Now()
			found, err := shared.get(t.Context(), "a", computed.run)
			if err != nil || asked.Sub(found.asOf) >= maxAnswerAge {
				t.Errorf("age = %v, want less than %v; error %v", asked.Sub(found.asOf), maxAnswerAge, err)
			}
		}
		if want := 5; computed.calls != want {
			t.Errorf("computations in a minute = %d, want %d", computed.calls, want)
		}
		if _, err := shared.get(t.Context(), "b", computed.run); err != nil || computed.calls != 6 {
			t.Errorf("computations with another key = %d, want 6; error %v", computed.calls, err)
		}
	})
}

func TestInventory_CapacityRequestCanceled_OthersGetResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared, computed := newSharedAnswers(), &computation{}
		first, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		go func() {
			if _, err := shared.get(first, "a", computed.run); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error of the first request = %v, want its deadline", err)
			}
		}()
		synctest.Wait()
		if _, err := shared.get(t.Context(), "a", computed.run); err != nil || computed.calls != 1 {
			t.Errorf("computations = %d, want 1; error %v", computed.calls, err)
		}
		alone, cancelAlone := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancelAlone()
		_, err := shared.get(alone, "b", computed.run)
		synctest.Wait() // the computation without a request has ended, or the bubble would not
		if !errors.Is(err, context.DeadlineExceeded) || shared.kept.Contains("b") {
			t.Errorf("error = %v; kept %v", err, shared.kept.Keys())
		}
	})
}

func TestInventory_CapacityFails_IsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared, computed := newSharedAnswers(), &computation{err: errors.New("no database")}
		for want := 1; want <= 2; want++ {
			if _, err := shared.get(t.Context(), "a", computed.run); err == nil || computed.calls != want {
				t.Errorf("computations = %d, want %d; error %v", computed.calls, want, err)
			}
		}
		_, err := shared.get(t.Context(), "a", func(context.Context) (capacityResponse, error) { panic("a bug") })
		if err == nil || !strings.Contains(err.Error(), "a bug") || shared.kept.Len() != 0 {
			t.Errorf("error of a panic = %v; %d kept", err, shared.kept.Len())
		}
	})
}

func TestInventory_ManyCapacities_BoundMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ length, kept int }{{1, maxSharedAnswers}, {maxSharedBytes / 3, 3}, {maxSharedBytes + 1, 0}} {
			shared, computed := newSharedAnswers(), &computation{length: c.length}
			for n := range maxSharedAnswers + 3 {
				if _, err := shared.get(t.Context(), fmt.Sprint(n), computed.run); err != nil {
					t.Fatal(err)
				}
			}
			if shared.kept.Len() != c.kept || shared.bytes != c.kept*c.length {
				t.Errorf("length %d: kept %d with %d bytes, want %d with %d", c.length, shared.kept.Len(), shared.bytes, c.kept, c.kept*c.length)
			}
		}
	})
}
