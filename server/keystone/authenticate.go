package keystone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/singleflight"

	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/request"
)

// Options say whom to ask, and what of the answers counts.
type Options struct {
	// Who signs in to ask about tokens, and where.
	Who gophercloud.AuthOptions
	// Region and Interface choose the endpoint of Keystone in the catalog at which
	// tokens are validated. No region: any. Interface is one of public, internal
	// and admin.
	Region, Interface string
	// PublicURL is where clients get tokens, for those that came without one; empty:
	// where we sign in.
	PublicURL string
	// Transport reaches Keystone; nil: net/http's.
	Transport http.RoundTripper
	// Timeout ends one request to Keystone; 0: never. Retries is how often more it
	// is sent when nobody answers, Pause how long to wait before the first; each
	// further one waits twice as long, up to eight times the first.
	Timeout time.Duration
	Retries int
	Pause   time.Duration
	// CacheTime is how long an answer of Keystone is remembered; 0 or less: not at all.
	CacheTime time.Duration
	// ServiceRoles are the roles one of which makes a token that of a service.
	// ServiceRolesRequired refuses a service token without one; otherwise it is
	// good for nothing, but does no harm.
	ServiceRoles         []string
	ServiceRolesRequired bool
	// ServiceType is the type of the Placement API in the catalog, by which access
	// rules name it; empty: tokens with such rules are refused there. The Bare Metal
	// API is always "baremetal".
	ServiceType string
	// Log is told of what clients need not know.
	Log *slog.Logger
}

// baremetalType is the type of the Bare Metal API in the catalog.
const baremetalType = "baremetal"

// Authenticator asks Keystone who makes a request.
type Authenticator struct {
	stats     stats
	options   Options
	challenge string
	asker     *asker
	cache     *cache
	// asking are the questions under way: many requests with one new token ask once.
	asking singleflight.Group
}

// New makes an authenticator. It asks nothing yet, so that Keystone may come later.
func New(options Options) (*Authenticator, error) {
	switch options.Interface {
	case "public", "internal", "admin":
	default:
		return nil, fmt.Errorf("keystone: the interface %q is none of public, internal and admin", options.Interface)
	}
	if options.Who.IdentityEndpoint == "" {
		return nil, errors.New("keystone: the address of the identity service is missing")
	}
	public := options.PublicURL
	if public == "" {
		public = options.Who.IdentityEndpoint
	}
	options.Who.AllowReauth = false
	return &Authenticator{
		options:   options,
		challenge: `Keystone uri="` + public + `"`,
		cache:     newCache(options.CacheTime),
		asker: &asker{
			questions: make(chan struct{}, mostQuestions),
			who:       options.Who, retries: options.Retries, pause: options.Pause, log: options.Log,
			where: gophercloud.EndpointOpts{
				Type: "identity", Region: options.Region, Availability: gophercloud.Availability(options.Interface),
			},
			over: http.Client{Transport: options.Transport, Timeout: options.Timeout, CheckRedirect: stayThere},
		},
	}, nil
}

// stayThere lets Keystone send us to another path, or to TLS, and to nobody else: the
// request has our token and that of a client.
func stayThere(next *http.Request, before []*http.Request) error {
	const most = 5
	first := before[0].URL
	if len(before) > most || next.URL.Hostname() != first.Hostname() || first.Scheme == "https" && next.URL.Scheme != "https" {
		return fmt.Errorf("we are sent on to %s, where our token may not go", next.URL.Redacted())
	}
	return nil
}

// Check says whether Keystone can be asked now.
func (a *Authenticator) Check(ctx context.Context) error {
	_, err := a.asker.signedIn(ctx)
	return err
}

// Authenticate finds out who makes a request, as auth.Authenticate says.
func (a *Authenticator) Authenticate(r *http.Request) (auth.Caller, error) {
	caller, err := a.whoCalls(r)
	var refused *auth.Refused
	if errors.As(err, &refused) {
		// Answers of Keystone are remembered and shared; they are not changed.
		return auth.Caller{}, &auth.Refused{Challenge: a.challenge, Reason: refused.Reason}
	}
	return caller, err
}

func (a *Authenticator) whoCalls(r *http.Request) (auth.Caller, error) {
	strip(r.Header)
	user, service, err := take(r.Header)
	if err != nil {
		return auth.Caller{}, err
	}
	vouching, isService, err := a.vouching(r, service)
	if err != nil {
		return auth.Caller{}, err
	}
	if user == "" {
		return auth.Caller{}, &auth.Refused{Reason: "there is no token in the header " + userTokenHeader}
	}
	// A task of a service may take longer than the token lasts of whom it is for.
	found, err := a.validate(r.Context(), user, isService)
	if err == nil {
		err = found.mayAsk(r, a.serviceType(r), isService)
	}
	if err != nil {
		return auth.Caller{}, err
	}
	caller := found.caller
	caller.Service = vouching
	return caller, nil
}

// vouching reads the token of a service; isService says that it has one of the roles
// that only services have. Nobody vouches where there is none. Access rules hold for
// this token, too: otherwise one that has them would lift its own by being sent twice.
func (a *Authenticator) vouching(r *http.Request, text string) (who auth.Service, isService bool, err error) {
	if text == "" {
		return auth.Service{}, false, nil
	}
	found, err := a.validate(r.Context(), text, false)
	if err == nil {
		err = found.mayAsk(r, a.serviceType(r), false)
	}
	if refused := new(auth.Refused); errors.As(err, &refused) {
		return auth.Service{}, false, &auth.Refused{Reason: "the service token: " + refused.Reason}
	}
	if err != nil {
		return auth.Service{}, false, err
	}
	is := found.caller
	isService = slices.ContainsFunc(is.Roles, func(role string) bool { return slices.Contains(a.options.ServiceRoles, role) })
	if !isService && a.options.ServiceRolesRequired {
		return auth.Service{}, false, &auth.Refused{
			Reason: "the service token: its user has none of the roles " + strings.Join(a.options.ServiceRoles, ", ")}
	}
	return auth.Service{
		UserID: is.UserID, ProjectID: is.ProjectID, Roles: is.Roles,
		UserDomainID: is.UserDomainID, ProjectDomainID: is.ProjectDomainID,
	}, isService, nil
}

func (a *Authenticator) serviceType(r *http.Request) string {
	if request.From(r.Context()).Service == request.Baremetal {
		return baremetalType
	}
	return a.options.ServiceType
}

// validate finds out about a token, by memory or by asking. Whether it has expired is
// looked at each time.
func (a *Authenticator) validate(ctx context.Context, text string, allowExpired bool) (*token, error) {
	of := keyOf(text, allowExpired)
	found, refused := a.cache.find(of, time.Now())
	switch {
	case refused != nil:
		a.stats.knownBad.Add(1)
		return nil, refused
	case found != nil:
		a.stats.known.Add(1)
	default:
		var err error
		if found, err = a.ask(ctx, of, text); err != nil {
			return nil, err
		}
	}
	if !allowExpired && !time.Now().Before(found.expires) {
		return nil, &auth.Refused{Reason: "the token has expired"}
	}
	return found, nil
}

// ask asks Keystone, once for all who want to know the same. The question goes on
// when the one who asked first goes away.
func (a *Authenticator) ask(ctx context.Context, of key, text string) (*token, error) {
	answers := a.asking.DoChan(of.flight(), func() (any, error) {
		found, err := a.asker.ask(context.WithoutCancel(ctx), text, of.allowExpired)
		var refused *auth.Refused
		switch {
		case err == nil:
			a.stats.valid.Add(1)
			a.cache.keep(of, found, time.Now())
		case errors.As(err, &refused):
			a.stats.refused.Add(1)
			a.cache.refuse(of, refused, time.Now())
		default:
			a.stats.failed.Add(1)
		}
		return found, err
	})
	select {
	case answer := <-answers:
		if answer.Err != nil {
			return nil, answer.Err
		}
		return answer.Val.(*token), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
