package keystone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/sony/gobreaker/v2"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/fairqueue"
	"github.com/berthd/berth/server/wire/request"
)

// Options configures an Authenticator: the Keystone to use, and the tokens to accept.
type Options struct {
	// Who has the credentials and the address with which Berth authenticates with Keystone.
	Who gophercloud.AuthOptions
	// Region and Interface select the endpoint of Keystone in the catalog that validates tokens. An empty
	// Region selects any. Interface is public, internal or admin.
	Region, Interface string
	// PublicURL is the address in the challenge of a 401, at which clients get tokens; default: the
	// address with which Berth authenticates.
	PublicURL string
	// Transport sends the requests to Keystone; nil: http.DefaultTransport.
	Transport http.RoundTripper
	// Timeout bounds one request to Keystone; 0: no limit. Retries is the maximum number of retries of a
	// request without a response. Pause is the delay before the first retry; each retry doubles it, up to
	// eight times Pause.
	Timeout time.Duration
	Retries int
	Pause   time.Duration
	// Total bounds the authentication of one request, which includes the wait in the queue, Berth's own
	// authentication and retries; 0: 15 seconds.
	Total time.Duration
	// MaxValidations is the maximum number of concurrent token validations; 0: 64. MaxQueued is the
	// maximum number of requests that wait for one. Clients share both fairly.
	MaxValidations, MaxQueued int
	// BreakerFailures is the number of consecutive validations without a response after which the circuit
	// breaker opens; 0: it never opens. BreakerTime is the interval at which an open breaker tries one
	// validation; 0: 5 seconds.
	BreakerFailures uint32
	BreakerTime     time.Duration
	// TokenFormats lists the formats of tokens that are sent to Keystone (FormatFernet and the constants
	// beside it). Tokens of other formats are invalid. Empty: all formats.
	TokenFormats []string
	// CacheTime is how long the result of a validation is cached; 0 or less disables the cache.
	CacheTime time.Duration
	// ServiceRoles lists the roles that identify a service: one of them suffices. With
	// ServiceRolesRequired, a service token without such a role is invalid; otherwise it is ignored.
	ServiceRoles         []string
	ServiceRolesRequired bool
	// ServiceType is the type of the Placement API in the catalog, by which access rules name it. If it is
	// empty, tokens with access rules are invalid there. The Bare Metal API always has the type
	// "baremetal".
	ServiceType string
	// Log receives details that responses omit.
	Log *slog.Logger
}

// baremetalType is the type of the Bare Metal API in the catalog of Keystone.
const baremetalType = "baremetal"

// Authenticator authenticates requests with Keystone. It is safe for concurrent use.
type Authenticator struct {
	stats          stats
	options        Options
	challenge      string
	tokenValidator *tokenValidator
	cache          *cache

	formats     []func(string) bool
	queue       *fairqueue.Queue
	breaker     *gobreaker.CircuitBreaker[*token]
	validations validations
}

// The defaults of Options.
const (
	defaultTotal          = 15 * time.Second
	defaultMaxValidations = 64
	defaultBreakerTime    = 5 * time.Second
)

// New returns an authenticator. It sends no request, so that Berth can start before Keystone does.
func New(options Options) (*Authenticator, error) {
	switch options.Interface {
	case "public", "internal", "admin":
	default:
		return nil, fmt.Errorf("keystone: invalid interface %q: want public, internal or admin", options.Interface)
	}
	if options.Who.IdentityEndpoint == "" {
		return nil, errors.New("keystone: the address of the identity service is missing")
	}
	public := options.PublicURL
	if public == "" {
		public = options.Who.IdentityEndpoint
	}
	formats, err := formatsOf(options.TokenFormats)
	if err != nil {
		return nil, err
	}
	options.Who.AllowReauth = false
	options.Total = cmp.Or(options.Total, defaultTotal)
	return &Authenticator{
		options:     options,
		challenge:   `Keystone uri="` + public + `"`,
		cache:       newCache(options.CacheTime),
		formats:     formats,
		queue:       newQueue(options),
		breaker:     newBreaker(options.BreakerFailures, cmp.Or(options.BreakerTime, defaultBreakerTime), options.Log),
		validations: validations{running: map[key]*validation{}},
		tokenValidator: &tokenValidator{
			who: options.Who, total: options.Total, retries: options.Retries, pause: options.Pause, log: options.Log,
			where: gophercloud.EndpointOpts{
				Type: "identity", Region: options.Region, Availability: gophercloud.Availability(options.Interface),
			},
			over: http.Client{Transport: options.Transport, Timeout: options.Timeout, CheckRedirect: SameHostRedirects},
		},
	}, nil
}

// newQueue returns the queue of token validations. A client that sends many made-up tokens delays only itself.
func newQueue(options Options) *fairqueue.Queue {
	return fairqueue.New(fairqueue.Options{Running: cmp.Or(options.MaxValidations, defaultMaxValidations), Waiting: options.MaxQueued})
}

// SameHostRedirects follows redirects to another path of the same host, and from http to https. It rejects
// all others, because the request carries Berth's token and that of a client.
func SameHostRedirects(next *http.Request, before []*http.Request) error {
	const most = 5
	first := before[0].URL
	if len(before) > most || next.URL.Hostname() != first.Hostname() || first.Scheme == "https" && next.URL.Scheme != "https" {
		return fmt.Errorf("not following the redirect to %s: Berth sends its service token only to the configured host "+
			"and never from https to http", next.URL.Redacted())
	}
	return nil
}

// Check authenticates Berth with Keystone unless its session is still valid, and returns the error if that
// fails.
func (a *Authenticator) Check(ctx context.Context) error {
	_, err := a.tokenValidator.ensureSession(ctx)
	return err
}

// Authenticate returns the caller of a request, as auth.Authenticate specifies. It ends within
// Options.Total.
func (a *Authenticator) Authenticate(r *http.Request) (auth.Caller, error) {
	ctx, cancel := context.WithTimeout(r.Context(), a.options.Total)
	defer cancel()
	caller, err := a.callerOf(r.WithContext(ctx))
	var refused *auth.UnauthenticatedError
	if errors.As(err, &refused) {
		// Requests share cached errors, so this code copies them instead of changing them.
		return auth.Caller{}, &auth.UnauthenticatedError{Challenge: a.challenge, Reason: refused.Reason}
	}
	return caller, err
}

func (a *Authenticator) callerOf(r *http.Request) (auth.Caller, error) {
	auth.DropIdentity(r.Header)
	user, service, err := take(r.Header)
	if err != nil {
		return auth.Caller{}, err
	}
	forwarding, isService, err := a.serviceTokenOf(r, service)
	if err != nil {
		return auth.Caller{}, err
	}
	if user == "" {
		return auth.Caller{}, &auth.UnauthenticatedError{Reason: "no token in the header " + userTokenHeader}
	}
	// A task of a service may take longer than the lifetime of its user's token.
	found, err := a.validate(r.Context(), user, isService)
	if err == nil {
		err = found.permits(r, a.serviceType(r), isService)
	}
	if err != nil {
		return auth.Caller{}, err
	}
	caller := found.caller
	caller.Method, caller.Service, caller.Expires = auth.MethodKeystone, forwarding, found.expires
	return caller, nil
}

// serviceTokenOf validates the service token of a request; isService reports whether it has one of the
// service roles. Without a token it returns the zero value. The access rules of this token apply too:
// otherwise a client could bypass the rules of its token by sending it in both headers.
func (a *Authenticator) serviceTokenOf(r *http.Request, text string) (who auth.Service, isService bool, err error) {
	if text == "" {
		return auth.Service{}, false, nil
	}
	found, err := a.validate(r.Context(), text, false)
	if err == nil {
		err = found.permits(r, a.serviceType(r), false)
	}
	if refused := new(auth.UnauthenticatedError); errors.As(err, &refused) {
		return auth.Service{}, false, &auth.UnauthenticatedError{Reason: "service token: " + refused.Reason}
	}
	if err != nil {
		return auth.Service{}, false, err
	}
	is := found.caller
	isService = slices.ContainsFunc(is.Roles, func(role string) bool { return slices.Contains(a.options.ServiceRoles, role) })
	if !isService && a.options.ServiceRolesRequired {
		return auth.Service{}, false, &auth.UnauthenticatedError{
			Reason: "service token: its user has none of the roles " + strings.Join(a.options.ServiceRoles, ", ")}
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
