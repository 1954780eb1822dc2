package store

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/fault"
)

// SQLSTATEs that say more about the server than about the statement.
const (
	readOnlyTransaction = "25006"
	adminShutdown       = "57P01"
	crashShutdown       = "57P02"
	cannotConnectNow    = "57P03"
	idleSessionTimeout  = "57P05"
	queryCanceled       = "57014"
	lockNotAvailable    = "55P03"
)

// loss is what an error says about the way to the database.
type loss int

const (
	// kept: the error is about something else, or there is none.
	kept loss = iota
	// undone: the statement was never sent, or the server did not do it.
	undone
	// refused: the server did not do it and would not if it were asked again at once.
	refused
	// unknown: the connection broke off after the statement was sent. The server may
	// have done it and not been able to say so.
	unknown
)

// ends tells whether an error is the last word on its connection.
func ends(reported *pgconn.PgError) bool {
	return reported.SeverityUnlocalized == "FATAL" || reported.SeverityUnlocalized == "PANIC" ||
		reported.Severity == "FATAL" || reported.Severity == "PANIC"
}

// lossOf sorts an error. Whatever leaves a doubt is unknown: a commit may precede the
// end of a connection, even where a server that shuts down still says why it ends it.
func lossOf(err error) loss {
	if err == nil {
		return kept
	}
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting {
		return undone
	}
	if reported, ok := errors.AsType[*pgconn.PgError](err); ok {
		return lossReported(reported)
	}
	if pgconn.SafeToRetry(err) {
		return undone
	}
	if errors.Is(err, context.DeadlineExceeded) && !pgconn.Timeout(err) {
		return kept // the time was up while it waited for a connection
	}
	if _, network := errors.AsType[net.Error](err); network {
		return unknown
	}
	if _, system := errors.AsType[syscall.Errno](err); system {
		return unknown
	}
	for _, over := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed} {
		if errors.Is(err, over) {
			return unknown
		}
	}
	return kept
}

func lossReported(reported *pgconn.PgError) loss {
	switch {
	case ends(reported):
		return unknown
	case reported.Code == readOnlyTransaction:
		return undone // it was sent to a server that is no primary any more
	case reported.Code == queryCanceled, reported.Code == lockNotAvailable,
		strings.HasPrefix(reported.Code, "53"): // of resources: disk, memory, connections
		return refused
	case slices.Contains([]string{adminShutdown, crashShutdown, cannotConnectNow, idleSessionTimeout}, reported.Code),
		strings.HasPrefix(reported.Code, "08"): // of connections; poolers say so too
		return unknown
	}
	return kept
}

// unreachable is a fault with its cause, which is for the log only.
type unreachable struct {
	fault *fault.Error
	cause error
}

// Error is for the log.
func (u *unreachable) Error() string { return u.fault.Detail + " Cause: " + u.cause.Error() }

// Unwrap finds both.
func (u *unreachable) Unwrap() []error { return []error{u.fault, u.cause} }

// What users read when the database can't be reached, by what became of a write.
const (
	wordsUnread  = "The database cannot be reached just now, or has no room for this request. Send it again."
	wordsUndone  = "The database cannot be reached just now, or has no room for this request. Nothing was changed; send it again."
	wordsUnknown = "The connection to the database ended while the change was being written, so that nobody can say here " +
		"whether it was made. Look at what is there before you send it again."
)

func unavailable(words string, cause error) error {
	return &unreachable{fault: fault.New(fault.Unavailable, "%s", words), cause: cause}
}

// patience is how long a request waits for a database that can't be reached: long
// enough for a restart or a planned switch that goes well, and short enough that
// requests don't pile up while a failover takes its half minute.
const patience = time.Second

// pause waits before another try, unless patience is at its end. The first tries
// follow each other quickly: where one connection broke, another may be whole.
func pause(ctx context.Context, since time.Time, attempt int) bool {
	if time.Since(since) > patience {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(1 + rand.Int64N(int64(min(attempt, 4))*int64(50*time.Millisecond)))):
		return true
	}
}

// noteLoss drops the pool's other connections after one has broken, since they most
// likely lead to the same server. Those in use are closed when they are given back.
func noteLoss(pool *pgxpool.Pool, found loss, err error) {
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); !connecting && (found == undone || found == unknown) {
		pool.Reset()
	}
}

// read runs a query on the primary, and again if the way there was lost: reading
// twice does no harm.
func read[R any](ctx context.Context, s *Store, query func(db.DBTX) (R, error)) (R, error) {
	return reading(ctx, s, func() (R, error) { return query(s.pool) })
}

// reading is read for what takes more than one statement.
func reading[R any](ctx context.Context, s *Store, run func() (R, error)) (R, error) {
	since := time.Now()
	for attempt := 1; ; attempt++ {
		done, err := run()
		found := lossOf(err)
		if found == kept || ctx.Err() != nil {
			return done, err
		}
		noteLoss(s.pool, found, err)
		if found == refused || !pause(ctx, since, attempt) {
			return done, unavailable(wordsUnread, err)
		}
	}
}

// broken words what ends a list that is on its way to the client: too late to begin
// again, but perhaps not for an answer with a status of its own.
func broken(ctx context.Context, err error) error {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	conflict := ok && (reported.Code == serializationFailure || reported.Code == deadlockDetected) // on a replica
	if ctx.Err() == nil && (conflict || lossOf(err) != kept) {
		return unavailable(wordsUnread, err)
	}
	return err
}
