package keystone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"golang.org/x/sync/singleflight"

	"github.com/berthd/berth/server/identity/auth"
)

// tokenValidator validates tokens with Keystone, as a user that is authorized to do so. It does not use
// gophercloud's reauthentication: that runs only after a 401, and cannot distinguish a rejected service
// token from an unknown subject token.
type tokenValidator struct {
	who     gophercloud.AuthOptions
	where   gophercloud.EndpointOpts
	over    http.Client
	retries int
	pause   time.Duration
	log     *slog.Logger

	// total bounds one authentication, retries included.
	total     time.Duration
	signingIn singleflight.Group
	mutex     sync.Mutex
	session   *session
}

// session is the result of an authentication with Keystone: the client of the endpoint, and the time of
// the next authentication.
type session struct {
	identity *gophercloud.ServiceClient
	until    time.Time
}

// ask validates a token. The error is a *auth.UnauthenticatedError if Keystone reports the token as
// invalid; any other error means that the validation failed.
func (a *tokenValidator) ask(ctx context.Context, text string, allowExpired bool) (*token, error) {
	for renewed := false; ; renewed = true {
		current, err := a.ensureSession(ctx)
		if err != nil {
			return nil, unanswered{fmt.Errorf("authenticate with Keystone at %s: %w", a.who.IdentityEndpoint, err)}
		}
		found, err := a.fetchToken(ctx, current, text, allowExpired)
		if status(err) != http.StatusUnauthorized {
			return found, err
		}
		// Berth's own token has become invalid. If a new one is invalid too, another one would be as well.
		a.dropSession(current)
		if renewed {
			return nil, fmt.Errorf("validate a token at %s: Keystone rejects Berth's own token, and a new one too", current.identity.Endpoint)
		}
	}
}

// fetchToken sends one token validation and retries it after transient errors. If Keystone rejects Berth's
// own token, it returns the error of gophercloud with status 401.
func (a *tokenValidator) fetchToken(ctx context.Context, current *session, text string, allowExpired bool) (*token, error) {
	address := current.identity.ServiceURL("auth", "tokens")
	if allowExpired {
		address += "?allow_expired=1"
	}
	var found *answer
	err := a.withRetries(ctx, func() error {
		response, err := current.identity.Get(ctx, address, nil, &gophercloud.RequestOpts{
			KeepResponseBody: true, // gophercloud would match names without regard to case
			OkCodes:          []int{http.StatusOK, http.StatusNonAuthoritativeInfo},
			MoreHeaders: map[string]string{
				"X-Subject-Token": text,
				// Without this header Keystone reports tokens with access rules as not found.
				"OpenStack-Identity-Access-Rules": "1",
			},
		})
		if err == nil {
			found, err = readAnswer(response)
		}
		return err
	})
	switch {
	case err == nil:
		read, err := found.read()
		if refused := new(auth.UnauthenticatedError); err != nil && !errors.As(err, &refused) {
			return nil, fmt.Errorf("validate a token at %s: %w", address, err)
		}
		return read, err
	case status(err) == http.StatusUnauthorized:
		return nil, err
	case status(err) == http.StatusNotFound:
		return nil, &auth.UnauthenticatedError{Reason: "Keystone does not know the token, or it has expired or was revoked"}
	case status(err) == http.StatusForbidden:
		return nil, fmt.Errorf("validate a token at %s: Berth's user is not authorized to validate tokens (%w)", address, sanitizeError(err, text))
	case isTransient(err) && status(err) != http.StatusTooManyRequests:
		return nil, unanswered{fmt.Errorf("validate a token at %s: %w", address, sanitizeError(err, text))}
	default:
		return nil, fmt.Errorf("validate a token at %s: %w", address, sanitizeError(err, text))
	}
}

// ensureSession returns a valid session, and authenticates if there is none. Concurrent callers share one
// authentication.
func (a *tokenValidator) ensureSession(ctx context.Context) (*session, error) {
	a.mutex.Lock()
	current := a.session
	a.mutex.Unlock()
	if current != nil && time.Now().Before(current.until) {
		return current, nil
	}
	signedIn := a.signingIn.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.total)
		defer cancel()
		var result *session
		err := a.withRetries(ctx, func() (err error) {
			result, err = a.signIn(ctx)
			return err
		})
		if err != nil {
			return nil, sanitizeError(err, a.who.Password, a.who.ApplicationCredentialSecret)
		}
		a.mutex.Lock()
		defer a.mutex.Unlock()
		a.session = result
		return result, nil
	})
	select {
	case result := <-signedIn:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*session), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// dropSession discards a session unless another one has replaced it.
func (a *tokenValidator) dropSession(refused *session) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.session == refused {
		a.session = nil
	}
}

// renewBefore is how long before its expiry Berth stops using its own token, or a quarter of its lifetime
// if that is less.
const renewBefore = 30 * time.Second

func (a *tokenValidator) signIn(ctx context.Context) (*session, error) {
	provider, err := openstack.NewClient(a.who.IdentityEndpoint)
	if err != nil {
		return nil, err
	}
	provider.HTTPClient = a.over
	provider.UserAgent.Prepend("berth")
	who := a.who
	if err := openstack.AuthenticateV3(ctx, provider, &who, gophercloud.EndpointOpts{}); err != nil {
		return nil, err
	}
	granted, ok := provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return nil, fmt.Errorf("a response of the type %T has no token", provider.GetAuthResult())
	}
	own, err := granted.ExtractToken()
	if err != nil {
		return nil, err
	}
	identity, err := openstack.NewIdentityV3(provider, a.where)
	if err != nil {
		// The token of a user without a project has no catalog.
		a.log.Debug("no such endpoint of Keystone in the catalog; validating tokens at the authentication address",
			"interface", a.where.Availability, "region", a.where.Region, "cause", err.Error())
		if identity, err = openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{}); err != nil {
			return nil, err
		}
	}
	return &session{identity, own.ExpiresAt.Add(-min(renewBefore, time.Until(own.ExpiresAt)/4))}, nil
}

// maxBackoffFactor is the longest retry delay as a multiple of the first. All requests with a token wait
// for one validation, so the delay must not outlast the outage by much.
const maxBackoffFactor = 8

// withRetries calls try until it succeeds, returns a permanent error, or was retried a.retries times.
func (a *tokenValidator) withRetries(ctx context.Context, try func() error) error {
	pause := a.pause
	for retry := 0; ; retry++ {
		err := try()
		if err == nil || retry >= a.retries || !isTransient(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
		pause = min(2*pause, maxBackoffFactor*a.pause)
	}
}

// isTransient reports whether a retry may succeed: there was no response, or one of a proxy in front of an
// unreachable Keystone, or Keystone limits the rate.
func isTransient(err error) bool {
	switch status(err) {
	case 0, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// status returns the status code of Keystone's response, 0 if there was none.
func status(err error) int {
	var answered gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &answered) {
		return answered.Actual
	}
	return 0
}

// sanitizeError returns an error for the log: at most 300 bytes of the response, with the given secrets
// masked.
func sanitizeError(err error, secrets ...string) error {
	var answered gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &answered) {
		return err
	}
	const most = 300
	body := strings.Join(strings.Fields(string(answered.Body)), " ")
	for _, secret := range secrets {
		if secret != "" {
			body = strings.ReplaceAll(body, secret, "***")
		}
	}
	if len(body) > most {
		body = body[:most] + "…"
	}
	return fmt.Errorf("status %d: %s", answered.Actual, body)
}
