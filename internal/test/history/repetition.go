package history

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/berthd/berth/internal/test/model"
)

// attempt is a request with a key whose first attempt was lost.
type attempt struct {
	operation model.Operation
	sent      request
	start     time.Duration
}

// isKeyed reports whether clients send a request with an Idempotency-Key.
func isKeyed(operation model.Operation) bool {
	switch w := operation.(type) {
	case model.ClaimFound, model.ClaimNamed:
		return true // only the response shows which allocations it makes
	case model.Claim:
		return len(w.Wants) > 1 && w.Wants[0].Consumer%2 == 0
	case model.Reshape:
		return len(w.Wants) > 0 && w.Wants[0].Consumer%2 == 0
	}
	return false
}

// doKeyed sends a request with a new key, and repeats it under this key: after a lost response, sometimes after a
// response, and sometimes at once. All attempts together are one call; each refusal is another, since the server does not
// remember it.
func (c *Client) doKeyed(ctx context.Context, operation model.Operation, sent request) error {
	c.keys++
	sent.key, sent.extended = fmt.Sprintf("%d-%d", c.Number, c.keys), true
	if c.Dice.IntN(8) == 0 {
		return c.doTwice(ctx, operation, sent)
	}
	start := c.now()
	first, err := c.attempt(ctx, sent)
	if err != nil {
		return fmt.Errorf("%s: %w", model.Describe(operation), err)
	}
	if first == nil {
		return c.repeatLost(ctx, attempt{operation, sent, start})
	}
	if first.isReplayed {
		c.addUnexplained(operation, start, first, "the first response is replayed")
		return nil
	}
	if err := c.record(operation, start, c.now(), first); err != nil {
		return err
	}
	if first.status < http.StatusMultipleChoices && c.Dice.IntN(4) == 0 {
		again := c.now()
		got, err := c.send(ctx, sent)
		if err != nil {
			return fmt.Errorf("%s: %w", model.Describe(operation), err)
		}
		if !got.repeats(first) {
			c.addUnexplained(operation, again, got, "no repetition of the first response")
		}
	}
	return nil
}

// repeats reports whether a response is the stored one.
func (r *response) repeats(first *response) bool {
	return r.isReplayed && r.status == first.status && bytes.Equal(r.body, first.body)
}

// addUnexplained adds a call whose response is wrong in every order.
func (c *Client) addUnexplained(operation model.Operation, start time.Duration, got *response, text string) {
	answer := model.Accepted()
	answer.Status, answer.Reason, answer.Detail = got.status, model.Unexplained, fmt.Sprintf("%s: %s", text, got.body)
	c.add(&Call{Operation: operation, Start: start, End: c.now(), Answer: answer})
}

// repeatLost sends a request again whose response was lost. If it is refused, the first attempt may still be executed:
// Resolve finds out.
func (c *Client) repeatLost(ctx context.Context, lost attempt) error {
	again := c.now()
	got, err := c.send(ctx, lost.sent)
	if err != nil {
		return fmt.Errorf("%s: %w", model.Describe(lost.operation), err)
	}
	if got.status < http.StatusMultipleChoices {
		return c.record(lost.operation, lost.start, c.now(), got)
	}
	c.unresolved = append(c.unresolved, lost)
	return c.record(lost.operation, again, c.now(), got)
}

// Resolve repeats the requests of which an attempt was lost and a later one refused. No request may be running. A
// replayed response is that of the lost attempt; otherwise the lost attempt was not executed, and this is a new call.
func (c *Client) Resolve(ctx context.Context) error {
	for _, lost := range c.unresolved {
		start := c.now()
		got, err := c.send(ctx, lost.sent)
		if err != nil {
			return fmt.Errorf("%s: %w", model.Describe(lost.operation), err)
		}
		if got.isReplayed {
			start = lost.start
		}
		if err := c.record(lost.operation, start, c.now(), got); err != nil {
			return err
		}
	}
	c.unresolved = nil
	return nil
}

// doTwice sends a request twice at once under one key. If both succeed, one of them has been executed.
func (c *Client) doTwice(ctx context.Context, operation model.Operation, sent request) error {
	var group sync.WaitGroup
	var got [2]*response
	var failed [2]error
	var start, end [2]time.Duration
	for i := range got {
		group.Go(func() {
			start[i] = c.now()
			got[i], failed[i] = c.send(ctx, sent)
			end[i] = c.now()
		})
	}
	group.Wait()
	for i, one := range got {
		if failed[i] != nil {
			return fmt.Errorf("%s: %w", operation, failed[i])
		}
		if one.isReplayed {
			if other := got[1-i]; other.isReplayed || !one.repeats(other) {
				c.addUnexplained(operation, start[i], one, "no repetition of the other response")
			}
			continue
		}
		if err := c.record(operation, start[i], end[i], one); err != nil {
			return err
		}
	}
	return nil
}
