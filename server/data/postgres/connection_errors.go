package postgres

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

	"github.com/berthd/berth/server/wire/fault"
)

// SQLSTATEs that describe the server rather than the statement.
const (
	readOnlyTransaction = "25006"
	adminShutdown       = "57P01"
	crashShutdown       = "57P02"
	cannotConnectNow    = "57P03"
	idleSessionTimeout  = "57P05"
	diskFull            = "53100"
	queryCanceled       = "57014"
	lockNotAvailable    = "55P03"
	// The error of idle_in_transaction_session_timeout and transaction_timeout.
	idleInTransactionTimeout = "25P03"
	transactionTimeout       = "25P04"
)

// connErrorClass is the effect of an error on its connection and statement.
type connErrorClass int

const (
	// notConnError: the error does not concern the connection, or is nil.
	notConnError connErrorClass = iota
	// notExecuted: the statement was never sent, or the server did not execute it.
	notExecuted
	// notExecutedNoRetry: the server did not execute it, and an immediate retry would fail as well.
	notExecutedNoRetry
	// outcomeUnknown: the connection failed after the statement was sent. The server may have executed it without being
	// able to report so.
	outcomeUnknown
)

// closesConn reports whether an error closes its connection.
func closesConn(reported *pgconn.PgError) bool {
	return reported.SeverityUnlocalized == "FATAL" || reported.SeverityUnlocalized == "PANIC" ||
		reported.Severity == "FATAL" || reported.Severity == "PANIC"
}

// classifyConnError maps err to a connErrorClass. Ambiguous errors map to outcomeUnknown: the commit may have succeeded
// before the connection ended, even if a server that shuts down still reports the reason.
func classifyConnError(err error) connErrorClass {
	if err == nil {
		return notConnError
	}
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting {
		return notExecuted
	}
	if reported, ok := errors.AsType[*pgconn.PgError](err); ok {
		return classifyPgError(reported)
	}
	if pgconn.SafeToRetry(err) {
		return notExecuted
	}
	if errors.Is(err, context.DeadlineExceeded) && !pgconn.Timeout(err) {
		return notConnError // the deadline passed while it waited for a connection
	}
	if _, network := errors.AsType[net.Error](err); network {
		return outcomeUnknown
	}
	if _, system := errors.AsType[syscall.Errno](err); system {
		return outcomeUnknown
	}
	for _, over := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed} {
		if errors.Is(err, over) {
			return outcomeUnknown
		}
	}
	return notConnError
}

func classifyPgError(reported *pgconn.PgError) connErrorClass {
	switch {
	case closesConn(reported):
		return outcomeUnknown
	case reported.Code == readOnlyTransaction:
		return notExecuted // the server is no longer the primary
	case reported.Code == queryCanceled, reported.Code == lockNotAvailable,
		strings.HasPrefix(reported.Code, "53"): // of resources: disk, memory, connections
		return notExecutedNoRetry
	case slices.Contains([]string{adminShutdown, crashShutdown, cannotConnectNow, idleSessionTimeout}, reported.Code),
		strings.HasPrefix(reported.Code, "08"): // of connections; poolers report them too
		return outcomeUnknown
	}
	return notConnError
}

// unavailableError is a fault with its cause. Only the log contains the cause.
type unavailableError struct {
	fault *fault.Error
	cause error
}

// Error returns the text for the log, with the cause.
func (u *unavailableError) Error() string { return u.fault.Detail + " Cause: " + u.cause.Error() }

// Unwrap returns the fault and the cause.
func (u *unavailableError) Unwrap() []error { return []error{u.fault, u.cause} }

// Texts for clients when the database connection fails, by the outcome of a write.
const (
	msgReadFailed          = "The database is unreachable or has no resources for this request. Retry the request."
	msgNothingChanged      = "The database is unreachable or has no resources for this request. Nothing was changed; retry the request."
	msgWriteOutcomeUnknown = "The database connection failed before the commit was confirmed, so the write may or may not have been " +
		"applied. Read the current state before you retry."
	wordsNoTurn = "All database connections for writes are in use. Nothing was changed; retry the request."
)

// wordsDiskFull replaces the other texts if PostgreSQL reports a full disk: a statement that fails with diskFull
// changes nothing.
const wordsDiskFull = "The disk of the database is full, so it cannot execute this request. Nothing was changed; retry the request " +
	"after an operator has freed disk space."

func isDiskFull(err error) bool {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	return ok && reported.Code == diskFull
}

// LockTimedOut reports whether PostgreSQL canceled a statement because it waited longer than lock_timeout. That rolls
// back the whole statement.
func LockTimedOut(err error) bool {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	return ok && reported.Code == lockNotAvailable && !closesConn(reported)
}

// lockTimeout returns the error of a write that waited too long for a lock. If its kind is an unavailable service, the
// error also carries the cause, for the log.
func lockTimeout(wanted *fault.Error, cause error) error {
	switch {
	case wanted == nil:
		return cause
	case wanted.Kind == fault.Unavailable:
		return &unavailableError{fault: wanted, cause: cause}
	}
	return wanted
}

func unavailable(words string, cause error) error {
	if words != msgWriteOutcomeUnknown && isDiskFull(cause) {
		words = wordsDiskFull
	}
	return &unavailableError{fault: fault.New(fault.Unavailable, "%s", words).WithOwn(fault.CodeDatabaseUnavailable), cause: cause}
}

// outcomeUnknownError returns the error of a write whose connection failed before its result arrived.
func outcomeUnknownError(cause error) error {
	result := fault.New(fault.Unavailable, "%s", msgWriteOutcomeUnknown).WithOwn(fault.CodeOutcomeUnknown)
	result.OutcomeUnknown = true
	return &unavailableError{fault: result, cause: cause}
}

// retryWindow is how long a request waits for an unavailable database: long enough for a restart or a planned
// switchover without problems, and short enough that requests do not pile up during a failover of half a minute.
const retryWindow = time.Second

// backoff waits before the next retry, unless retryWindow has passed. The first delays are short: after one connection
// has failed, another may still work.
func backoff(ctx context.Context, since time.Time, attempt int) bool {
	if time.Since(since) > retryWindow {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(1 + rand.Int64N(int64(min(attempt, 4))*int64(50*time.Millisecond)))):
		return true
	}
}

// resetPoolAfter closes the pool's other connections after one has failed, because they most likely lead to the same
// server. Connections in use are closed when they are released. A transaction that was idle for too long has no
// consequence for the other connections.
func resetPoolAfter(pool *pgxpool.Pool, found connErrorClass, err error) {
	if reported, ok := errors.AsType[*pgconn.PgError](err); ok &&
		(reported.Code == idleInTransactionTimeout || reported.Code == transactionTimeout) {
		return
	}
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); !connecting && (found == notExecuted || found == outcomeUnknown) {
		pool.Reset()
	}
}
