package route

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/accept"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/request"
)

// Media types of streams.
const (
	NDJSON      = "application/x-ndjson"
	EventStream = "text/event-stream"
)

// Live is the connection of a response that has no end of its own.
type Live interface {
	// Send writes p, and returns when the connection has taken it. An error ends the response.
	Send(p []byte) error
	// Expire makes Send fail at a time. It can be called while Send waits.
	Expire(at time.Time)
}

// Stream makes run send the body of a response after the operation has ended: without a slot and without a timeout of the request. ctx ends
// when the client disconnects, or the server closes the connection. Headers and status are those that the operation has set.
func Stream(to huma.Context, run func(ctx context.Context, to Live)) {
	answer, ok := to.BodyWriter().(interface {
		Stream(run func(ctx context.Context, to Live))
	})
	if !ok {
		panic("this server cannot send streams")
	}
	answer.Stream(run)
}

// negotiateStream sets the format of a stream: NDJSON unless the client prefers an event stream.
func negotiateStream(r *http.Request) error {
	header := strings.Join(r.Header.Values("Accept"), ",")
	ranges := accept.Parse(header)
	lines, events := ranges.Quality(NDJSON), ranges.Quality(EventStream)
	info := request.From(r.Context())
	switch {
	case lines == 0 && events == 0:
		return fault.New(fault.NotAcceptable, "Only %s and %s are provided", NDJSON, EventStream)
	case events > lines:
		info.Format = EventStream
	default:
		info.Format = NDJSON
	}
	return nil
}
