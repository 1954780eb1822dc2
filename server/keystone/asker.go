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

	"github.com/berthd/berth/server/auth"
)

// asker asks Keystone about tokens, as a user who may do so. The other library's way
// of renewing that user's token is not used: it does so only after a refusal, and a
// refusal that stays cannot be told from a token that is not known.
type asker struct {
	who     gophercloud.AuthOptions
	where   gophercloud.EndpointOpts
	over    http.Client
	retries int
	pause   time.Duration
	log     *slog.Logger

	// questions bounds how many are asked at once: every token that nobody has seen yet
	// is one, and made-up ones cost nothing.
	questions chan struct{}
	signingIn singleflight.Group
	mutex     sync.Mutex
	session   *session
}

// session is what a token of our own gives: where to ask, until when.
type session struct {
	identity *gophercloud.ServiceClient
	until    time.Time
}

// mostQuestions is more than a Keystone answers at once.
const mostQuestions = 256

// ask finds out about a token. The error is a *auth.Refused if Keystone does not
// vouch for it; any other says that it could not be asked.
func (a *asker) ask(ctx context.Context, text string, allowExpired bool) (*token, error) {
	select {
	case a.questions <- struct{}{}:
		defer func() { <-a.questions }()
	default:
		return nil, fmt.Errorf("%d questions to %s wait for an answer already", cap(a.questions), a.who.IdentityEndpoint)
	}
	for again := false; ; again = true {
		current, err := a.signedIn(ctx)
		if err != nil {
			return nil, fmt.Errorf("sign in at %s: %w", a.who.IdentityEndpoint, err)
		}
		found, err := a.about(ctx, current, text, allowExpired)
		if status(err) != http.StatusUnauthorized {
			return found, err
		}
		// Our own token is not valid any more. A new one that is not valid either
		// will not become so.
		a.forget(current)
		if again {
			return nil, fmt.Errorf("validate a token at %s: our own token is refused, and so is a new one", current.identity.Endpoint)
		}
	}
}

// about is one question, repeated while nobody answers it. That our own token is
// refused is told as the library does.
func (a *asker) about(ctx context.Context, current *session, text string, allowExpired bool) (*token, error) {
	address := current.identity.ServiceURL("auth", "tokens")
	if allowExpired {
		address += "?allow_expired=1"
	}
	var told answer
	err := a.persist(ctx, func() error {
		_, err := current.identity.Get(ctx, address, &told, &gophercloud.RequestOpts{
			OkCodes: []int{http.StatusOK, http.StatusNonAuthoritativeInfo},
			MoreHeaders: map[string]string{
				"X-Subject-Token": text,
				// Without it Keystone denies that tokens with access rules exist.
				"OpenStack-Identity-Access-Rules": "1",
			},
		})
		return err
	})
	switch {
	case err == nil:
		read, err := told.read()
		if refused := new(auth.Refused); err != nil && !errors.As(err, &refused) {
			return nil, fmt.Errorf("validate a token at %s: %w", address, err)
		}
		return read, err
	case status(err) == http.StatusUnauthorized:
		return nil, err
	case status(err) == http.StatusNotFound:
		return nil, &auth.Refused{Reason: "Keystone does not know the token, or it has expired or was revoked"}
	case status(err) == http.StatusForbidden:
		return nil, fmt.Errorf("validate a token at %s: our own user may not do that (%w)", address, plain(err, text))
	default:
		return nil, fmt.Errorf("validate a token at %s: %w", address, plain(err, text))
	}
}

// signedIn gives a session that lasts. Many who need one at once wait for the same.
func (a *asker) signedIn(ctx context.Context) (*session, error) {
	a.mutex.Lock()
	current := a.session
	a.mutex.Unlock()
	if current != nil && time.Now().Before(current.until) {
		return current, nil
	}
	made, err, _ := a.signingIn.Do("", func() (any, error) {
		var made *session
		err := a.persist(ctx, func() (err error) {
			made, err = a.signIn(ctx)
			return err
		})
		if err != nil {
			return nil, plain(err, a.who.Password, a.who.ApplicationCredentialSecret)
		}
		a.mutex.Lock()
		defer a.mutex.Unlock()
		a.session = made
		return made, nil
	})
	if err != nil {
		return nil, err
	}
	return made.(*session), nil
}

// forget leaves a session, unless there is another one already.
func (a *asker) forget(refused *session) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.session == refused {
		a.session = nil
	}
}

// early is how long before its end our own token is not used any more; a quarter of
// its life where that is less.
const early = 30 * time.Second

func (a *asker) signIn(ctx context.Context) (*session, error) {
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
		return nil, fmt.Errorf("an answer of the type %T has no token", provider.GetAuthResult())
	}
	own, err := granted.ExtractToken()
	if err != nil {
		return nil, err
	}
	identity, err := openstack.NewIdentityV3(provider, a.where)
	if err != nil {
		// A user without a project has no catalog.
		a.log.Debug("the catalog names no such endpoint of Keystone; tokens are validated where we sign in",
			"interface", a.where.Availability, "region", a.where.Region, "cause", err.Error())
		if identity, err = openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{}); err != nil {
			return nil, err
		}
	}
	return &session{identity, own.ExpiresAt.Add(-min(early, time.Until(own.ExpiresAt)/4))}, nil
}

// mostPauses is how many times the first pause the longest is. All who need the answer
// wait for the one who asks, so a pause must not outlast the outage by much.
const mostPauses = 8

// persist repeats what nobody answered.
func (a *asker) persist(ctx context.Context, try func() error) error {
	pause := a.pause
	for retry := 0; ; retry++ {
		err := try()
		if err == nil || retry >= a.retries || !passing(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
		pause = min(2*pause, mostPauses*a.pause)
	}
}

// passing says whether the same may go well a moment later: nobody answered, or
// somebody who stands in for a Keystone that is away.
func passing(err error) bool {
	switch status(err) {
	case 0, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// status is what Keystone answered; 0: nothing.
func status(err error) int {
	var answered gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &answered) {
		return answered.Actual
	}
	return 0
}

// plain is an error for the log: short, and without secrets that Keystone may have
// repeated.
func plain(err error, secrets ...string) error {
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
	return fmt.Errorf("the answer is %d: %s", answered.Actual, body)
}
