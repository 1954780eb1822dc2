package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/request"
	"github.com/berthd/berth/server/wire/spool"
)

// Handlers that are not operations of an API have slots of their own (docs/decisions/0026-bounds-for-every-handler.md).
// These are the numbers of slots: of each probe, of /metrics, whose collectors take some milliseconds of a CPU, of the
// version documents, of the pages of the console, of the API reference and its documents, and of the profiles of a process.
const (
	probeSlots    = 64
	metricsSlots  = 4
	versionSlots  = 64
	pageSlots     = 32
	documentSlots = 32
	profileSlots  = 4
)

// reservedQueue and reservedWait bound the requests that wait for one of these slots. They are no settings: without a queue
// in front of the APIs, probes still have one.
const reservedQueue, reservedWait = 1000, 5 * time.Second

// reservedMemory is the memory for complete responses of one such set of handlers: twenty of /metrics.
const reservedMemory = 4 << 20

// newReservedRoom returns a buffer that responses of other handlers cannot fill.
func newReservedRoom() *spool.Spool {
	room, _ := spool.New(spool.Options{Memory: reservedMemory}) // without a directory it cannot fail
	return room
}

// reserve returns a limiter with slots of its own and the same metrics. Its handlers write to their clients without a
// room; they must release their slot first, unless the slot shall bound the writers too.
func (l *limiter) reserve(kind string, slots int64, room *spool.Spool) *limiter {
	result := &limiter{
		limits:  Limits{Requests: slots, Queue: reservedQueue, Wait: reservedWait, BodyRate: l.limits.BodyRate},
		running: newPlaces(slots, kind), uploading: newPlaces(slots-slots/reservedShare, kind+" with large bodies"),
		room: room, refused: l.refused, writing: l.writing,
	}
	l.reserved = append(l.reserved, result)
	return result
}

// runWithoutBody is runWithBody for handlers that read no body. The body of the request stays unread.
func (l *limiter) runWithoutBody(serve handler, w http.ResponseWriter, r *http.Request) error {
	r.Body, r.ContentLength = http.NoBody, 0
	return l.runWithBody(serve, w, r, 0)
}

// runHandler is runWithoutBody for an http.Handler.
func (l *limiter) runHandler(next http.Handler, w http.ResponseWriter, r *http.Request) error {
	return l.runWithoutBody(func(w http.ResponseWriter, r *http.Request) error {
		next.ServeHTTP(w, r)
		return nil
	}, w, r)
}

// leaveSlot releases the slot of a request before its response is sent.
func leaveSlot(r *http.Request) {
	if leave := request.From(r.Context()).Leave; leave != nil {
		leave()
	}
}

// newPages returns the limiter of the console, which has no more slots than the APIs. A page holds its slot while its calls
// wait for slots of the APIs. Requests to the APIs never wait for a slot of a page, so that none can deadlock.
func (l *limiter) newPages() *limiter {
	slots := int64(pageSlots)
	if most := l.limits.Requests; most > 0 {
		slots = min(slots, most)
	}
	return l.reserve("pages of the console", slots, l.room)
}

// maxPageAddress is the maximum size in bytes of the address of a page, with the host and the prefix of a proxy: a page has
// the address in many of its links.
const maxPageAddress = 16 << 10

// checkAddress sends 414 and returns false if the address of a page is too long.
func checkAddress(w http.ResponseWriter, r *http.Request) bool {
	info := request.From(r.Context())
	if len(info.Base)+len(info.Outer)+len(r.URL.EscapedPath())+len(r.URL.RawQuery) <= maxPageAddress {
		return true
	}
	w.Header().Set("Connection", "close") // so that net/http reads no body
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	http.Error(w, "The address of this page is longer than 16 KiB. Shorten its query.", http.StatusRequestURITooLong)
	return false
}

const (
	// maxPrebufferedForm is the maximum size of a form that is read before the request has a slot.
	maxPrebufferedForm = 16 << 10
	// costOfForm is the number of bytes of memory per byte of a larger form: its text, its fields, the body of a call and
	// the page that shows it again.
	costOfForm = 8
	// shareOfForms is the divisor of the memory of request bodies that is the memory of larger forms.
	shareOfForms = 4
)

// newFormBudget returns the memory of larger forms. It is not the budget of the APIs: a page holds memory of its form while
// its calls wait for memory of their bodies.
func newFormBudget(options Options) *route.Budget {
	return route.NewBudget(options.Bodies.Memory/shareOfForms, reservedQueue, reservedWait)
}

// formBody acquires memory for the bytes that arrive.
type formBody struct {
	body io.ReadCloser
	ctx  context.Context
	hold *route.Hold
}

// Read implements io.Reader.
func (b *formBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if n > 0 {
		if failed := b.hold.Grow(b.ctx, costOfForm*int64(n)); failed != nil {
			return 0, formError(failed)
		}
	}
	return n, err
}

// Close implements io.Closer.
func (b *formBody) Close() error { return b.body.Close() }

// formError translates the errors of a budget.
func formError(err error) error {
	if !errors.Is(err, route.ErrBudgetQueue) && !errors.Is(err, route.ErrBudgetWait) {
		return err
	}
	return retryLater(fault.Unavailable, "Other forms take as much memory as they may, a quarter of the setting max-body-memory, and %s.", err)
}
