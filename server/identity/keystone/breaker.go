package keystone

import (
	"errors"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"
)

// unanswered is an error that means that Keystone is unreachable: it refused the connection or did not
// respond in time, a proxy in front of it responded 502, 503 or 504, or Berth cannot authenticate with it.
//
// A response 500 to a validation does not count. It may concern that token only, and a client must not be
// able to open the circuit breaker with tokens that make Keystone fail.
type unanswered struct{ error }

// Unwrap returns the cause.
func (u unanswered) Unwrap() error { return u.error }

func isAnswered(err error) bool { return !errors.As(err, new(unanswered)) }

// newBreaker returns a circuit breaker that opens after the given number of consecutive validations
// without a response, retries included; 0: it never opens. While it is open, Berth sends no validations.
// After openTime it lets one through, whose outcome closes the breaker or keeps it open for another
// openTime.
func newBreaker(failures uint32, openTime time.Duration, log *slog.Logger) *gobreaker.CircuitBreaker[*token] {
	return gobreaker.NewCircuitBreaker[*token](gobreaker.Settings{
		Timeout:      openTime,
		IsSuccessful: isAnswered,
		ReadyToTrip:  func(counts gobreaker.Counts) bool { return failures > 0 && counts.ConsecutiveFailures >= failures },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch {
			case to == gobreaker.StateClosed:
				log.Info("Keystone responds again; closing the circuit breaker")
			case from == gobreaker.StateClosed:
				log.Warn("Keystone does not respond; opening the circuit breaker",
					"failures", failures, "interval", openTime.String())
			}
		},
	})
}

// maxBreakerToken is the maximum length in bytes of a token whose validation counts for the circuit
// breaker. Proxies in front of Keystone may close the connection of a request with longer headers, and a
// client must not be able to open the breaker with those.
const maxBreakerToken = 2048

// throughBreaker runs a validation unless the circuit breaker is open.
func (a *Authenticator) throughBreaker(text string, validate func() (*token, error)) (*token, error) {
	if len(text) <= maxBreakerToken {
		return a.breaker.Execute(validate)
	}
	if a.breaker.State() != gobreaker.StateClosed {
		return nil, gobreaker.ErrOpenState
	}
	return validate()
}

// isOpen reports whether err is that of a circuit breaker that did not run a validation.
func isOpen(err error) bool {
	return errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
}
