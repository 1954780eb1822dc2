package placement

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// maxAnswerAge is the maximum time from the start of a computation to a request that gets its result.
	maxAnswerAge = 15 * time.Second
	// maxSharedAnswers is the maximum number of answers that a server keeps, and maxSharedBytes their maximum total length.
	// A page of 1,000 trees with four classes each takes 1.5 MB.
	maxSharedAnswers = 64
	maxSharedBytes   = 32 << 20
)

// sharedResponses computes each answer once for all requests with the same key, and keeps it for maxAnswerAge. Requests wait
// for a running computation, each as long as its own context permits. It does not keep errors. It is safe for concurrent use.
type sharedResponses struct {
	mutex sync.Mutex
	// kept has running and finished computations. bytes is the total length of the finished ones.
	kept  *simplelru.LRU[string, *sharedResponse]
	bytes int
}

// sharedResponse is a computation. Its result does not change after done is closed.
type sharedResponse struct {
	began  time.Time
	done   chan struct{}
	result capacityResponse
	err    error
	// cancel ends the computation when waiting, the number of requests that wait for it, becomes 0.
	cancel  context.CancelFunc
	waiting int
	// length is what bytes has for it.
	length int
}

func newSharedAnswers() *sharedResponses {
	s := &sharedResponses{}
	// NewLRU fails only for sizes below one.
	s.kept, _ = simplelru.NewLRU(maxSharedAnswers, func(_ string, evicted *sharedResponse) { s.bytes -= evicted.length })
	return s
}

// get returns the result of compute, or that of a call with the same key. The context of compute has the values of ctx, and
// ends when no request waits for the result.
func (s *sharedResponses) get(ctx context.Context, key string, compute func(context.Context) (capacityResponse, error)) (capacityResponse, error) {
	s.mutex.Lock()
	found, ok := s.kept.Get(key)
	if !ok || time.Since(found.began) >= maxAnswerAge {
		found = s.start(ctx, key, compute)
	}
	found.waiting++
	s.mutex.Unlock()
	defer s.leave(key, found)
	select {
	case <-found.done:
		return found.result, found.err
	case <-ctx.Done():
		return capacityResponse{}, ctx.Err()
	}
}

// start begins a computation. The caller holds the mutex.
func (s *sharedResponses) start(ctx context.Context, key string, compute func(context.Context) (capacityResponse, error)) *sharedResponse {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	result := &sharedResponse{began: time.Now(), done: make(chan struct{}), cancel: cancel}
	s.kept.Remove(key)
	s.kept.Add(key, result)
	go func() {
		defer cancel()
		result.result, result.err = recovering(ctx, compute)
		s.finish(key, result)
		close(result.done)
	}()
	return result
}

// recovering calls compute, and returns a panic as an error: in this goroutine it would end the server.
func recovering(ctx context.Context, compute func(context.Context) (capacityResponse, error)) (result capacityResponse, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic while computing capacities: %v\n%s", cause, debug.Stack())
		}
	}()
	return compute(ctx)
}

// finish keeps a result, or drops it if it is an error or if nothing else would fit beside it.
func (s *sharedResponses) finish(key string, ended *sharedResponse) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if current, ok := s.kept.Peek(key); !ok || current != ended {
		return
	}
	if ended.err != nil || len(ended.result.encoded) > maxSharedBytes {
		s.kept.Remove(key)
		return
	}
	ended.length = len(ended.result.encoded)
	for s.bytes += ended.length; s.bytes > maxSharedBytes; {
		s.kept.RemoveOldest()
	}
}

// leave ends the wait of a request.
func (s *sharedResponses) leave(key string, of *sharedResponse) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	of.waiting--
	select {
	case <-of.done:
	default:
		if of.waiting == 0 { // a later request begins a new computation
			of.cancel()
			if current, ok := s.kept.Peek(key); ok && current == of {
				s.kept.Remove(key)
			}
		}
	}
}
