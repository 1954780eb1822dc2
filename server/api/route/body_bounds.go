package route

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
)

// BodySize is the size class of an operation's body.
type BodySize int

const (
	// BodyOrdinary allows up to BodyLimits.MaxOrdinary.
	BodyOrdinary BodySize = iota
	// BodyLarge allows up to BodyLimits.Max, for operations on any number of resources.
	BodyLarge
	// BodyLongTexts allows up to BodyLimits.Max with the number of values of an ordinary body, for operations whose body
	// contains a file as a text.
	BodyLongTexts
)

const (
	// bytesOfValue is the number of bytes of the limit per value of a body: an allocation of one class has 21 for each
	// of its three values.
	bytesOfValue = 16
	// freeBytes and freeValues are the size of a body that acquires nothing from the budget.
	freeBytes, freeValues = 64 << 10, 1024

	// costOfValue is the number of bytes per value in the types of Placement until the request ends, measured with
	// 220,000 allocations. costOfTree is the number of bytes per value in the trees to which patches of nodes are
	// applied.
	costOfValue, costOfTree = 160, 400
	// costOfFailure is the number of bytes per value with a violation in the validator's texts.
	costOfFailure = 800
	// canonicalCost is the number of bytes of the canonical form and its copies per byte of a body.
	canonicalCost = 3
)

// bodyBounds are the bounds of the bodies of one operation.
type bodyBounds struct {
	bytes, values int64
	cost          int64 // of one value
	setting       string
}

// bounds returns the bounds of a size.
func (t *Table) bounds(size BodySize) bodyBounds {
	ordinary := bodyBounds{
		bytes: t.limits.MaxOrdinary, values: maxValues(t.limits.MaxOrdinary), cost: costOfValue, setting: "max-ordinary-body-bytes",
	}
	if t.limits.MaxOrdinary == 0 || t.limits.MaxOrdinary >= t.limits.Max {
		ordinary.bytes, ordinary.values, ordinary.setting = t.limits.Max, maxValues(t.limits.Max), "max-body-bytes"
	}
	switch size {
	case BodyLarge:
		return bodyBounds{bytes: t.limits.Max, values: maxValues(t.limits.Max), cost: costOfValue, setting: "max-body-bytes"}
	case BodyLongTexts:
		return bodyBounds{bytes: t.limits.Max, values: ordinary.values, cost: costOfTree, setting: "max-body-bytes"}
	}
	return ordinary
}

// maxValues returns the maximum number of values of a body of the given size. It is large enough that small bodies only
// reach their limit of bytes.
func maxValues(bytes int64) int64 { return max(bytes/bytesOfValue, jsonbody.MaxExcerptValues) }

// read reads the whole body up to the limit. It acquires memory from the budget as bytes arrive: a slow client holds at
// most four times the bytes that it sent.
func (b bodyBounds) read(ctx context.Context, r *http.Request, hold *Hold) ([]byte, error) {
	most := b.bytes
	if r.ContentLength > most {
		return nil, b.tooLarge()
	}
	if r.ContentLength >= 0 {
		most = r.ContentLength
	}
	most++ // the reader reports the end of the body before the buffer is full
	body := http.MaxBytesReader(nil, r.Body, b.bytes)
	first := min(most, freeBytes)
	if r.ContentLength < 0 {
		first = min(most, bytes.MinRead)
	}
	raw := make([]byte, 0, first)
	for {
		if len(raw) == cap(raw) {
			larger := min(4*int64(cap(raw)), most)
			if larger > freeBytes {
				if err := b.grow(ctx, hold, larger-int64(cap(raw))); err != nil {
					return nil, err
				}
			}
			raw = append(make([]byte, 0, larger), raw...)
		}
		n, err := body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		var over *http.MaxBytesError
		switch {
		case err == io.EOF:
			return raw, nil
		case errors.As(err, &over):
			return nil, b.tooLarge()
		case fault.As(err) != nil:
			return nil, err
		case err != nil:
			return nil, fault.New(fault.Invalid, "The request's body could not be read to its end.")
		}
	}
}

// weigh acquires the cost of decoding a body from the budget and returns a bound on the number of its values.
func (b bodyBounds) weigh(ctx context.Context, raw []byte, hold *Hold) (values int64, err error) {
	values = int64(jsonbody.CountValues(raw))
	if values > b.values {
		return values, fault.New(fault.TooLarge, "The request's body has more than %d values, the limit for bodies of this operation.", b.values).
			WithOwn(fault.CodeLimitBody)
	}
	if len(raw) <= freeBytes && values <= freeValues {
		return values, nil
	}
	return values, b.grow(ctx, hold, int64(len(raw))+values*b.cost)
}

// grow translates the errors of a budget.
func (b bodyBounds) grow(ctx context.Context, hold *Hold, by int64) error {
	err := hold.Grow(ctx, by)
	if !errors.Is(err, ErrBudgetQueue) && !errors.Is(err, ErrBudgetWait) {
		return err
	}
	// Jitter: clients with equal retry times would all retry at the same moment.
	refused := fault.New(fault.Unavailable, "The bodies of other requests take as much memory as they may, which is the setting max-body-memory, and %s.", err).
		WithOwn(fault.CodeOverloaded)
	refused.RetryAfter = time.Duration(1+rand.IntN(3)) * time.Second
	return refused
}

func (b bodyBounds) tooLarge() error {
	return fault.New(fault.TooLarge, "The request's body is larger than the limit of %d bytes, which is the setting %s.", b.bytes, b.setting).
		WithOwn(fault.CodeLimitBody)
}
