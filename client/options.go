package client

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// Option is an option of New.
type Option func(*options)

type options struct {
	auth      func(*http.Client) (authenticator, error)
	http      *http.Client
	transport http.RoundTripper
	retries   Retries
	agent     string
	log       *slog.Logger
	refresh   time.Duration
	members   time.Duration
}

// WithNoAuth sends a user, a project (empty: the name of the user) and roles (none: admin and service) to a service
// without authentication. It is the default, with the user admin.
func WithNoAuth(user, project string, roles ...string) Option {
	return func(o *options) {
		o.auth = func(*http.Client) (authenticator, error) { return noAuth(user, project, roles...), nil }
	}
}

// WithToken sends this token with every request, and never renews it.
func WithToken(token string) Option {
	return func(o *options) {
		o.auth = func(*http.Client) (authenticator, error) {
			return fixed{http.Header{tokenHeader: {token}}}, nil
		}
	}
}

// WithBearerToken is WithToken with the header Authorization: Bearer, for proxies that do not forward X-Auth-Token.
func WithBearerToken(token string) Option {
	return func(o *options) {
		o.auth = func(*http.Client) (authenticator, error) {
			return fixed{http.Header{"Authorization": {"Bearer " + token}}}, nil
		}
	}
}

// KeystoneOptions are the criteria that select the endpoint in the catalog.
type KeystoneOptions struct {
	// Region may be empty if the catalog has one region.
	Region string
	// Interface is public, internal or admin; empty: public.
	Interface string
	// ServiceType is the type of the service in the catalog; empty: placement. Package client/baremetal needs
	// baremetal.
	ServiceType string
}

// WithKeystone requests a token from Keystone (API version 3) before the first request, two minutes before it expires,
// and once after a response with status 401. The identity endpoint may end in /v3 or before that.
func WithKeystone(who gophercloud.AuthOptions, which KeystoneOptions) Option {
	return func(o *options) {
		o.auth = func(over *http.Client) (authenticator, error) { return newKeystone(who, which, over) }
	}
}

// WithHTTPClient uses a copy of this HTTP client, with its certificates, proxies and timeout. The timeout applies to a
// call with all its retries.
func WithHTTPClient(given *http.Client) Option { return func(o *options) { o.http = given } }

// WithTransport sends requests through this transport instead of the connection pool of this package. It overrides the
// transport of WithHTTPClient.
func WithTransport(given http.RoundTripper) Option { return func(o *options) { o.transport = given } }

// WithRetries sets the number of attempts and the backoff of requests that can be retried.
func WithRetries(given Retries) Option { return func(o *options) { o.retries = given } }

// WithUserAgent sets the User-Agent header. The default is "berth-client/<version>".
func WithUserAgent(agent string) Option { return func(o *options) { o.agent = agent } }

// WithLogger logs every retry, and every request at level debug. The default is no log.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithRefresh sets the age at which cached data of a provider tree is read again. The default is 300 seconds; 0: it is
// read once.
func WithRefresh(age time.Duration) Option { return func(o *options) { o.refresh = age } }

// pool is the transport of all clients without an own one. The timeout keeps a service that accepts connections and
// never responds from blocking an agent forever; the longest reshape takes a fraction of it.
var pool = func() http.RoundTripper {
	shared := http.DefaultTransport.(*http.Transport).Clone()
	shared.ResponseHeaderTimeout = 2 * time.Minute
	shared.MaxIdleConnsPerHost = 8
	// Proxies close connections that are idle for 5 s or longer. A write sent at that moment has an unknown outcome, so
	// this side closes first.
	shared.IdleConnTimeout = 4 * time.Second
	return shared
}()

// clients returns two copies of the HTTP client given. The outer one is for the service and gets the transport of this
// package. The inner one is for the attempts below it and for Keystone.
func (o *options) clients() (outer, inner *http.Client) {
	var copied http.Client
	if o.http != nil {
		copied = *o.http
	}
	switch {
	case o.transport != nil:
		copied.Transport = o.transport
	case copied.Transport == nil:
		copied.Transport = pool
	}
	under := copied
	if copied.CheckRedirect == nil {
		// The API has no redirects. Following one would send the token to another host and turn a write into a read.
		copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &copied, &under
}

// version returns the version of the module, for the User-Agent.
func version() string {
	const module = "github.com/berthd/berth"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if info.Main.Path == module {
		return strings.Trim(info.Main.Version, "()") // "(devel)"
	}
	for _, used := range info.Deps {
		if used.Path == module {
			return used.Version
		}
	}
	return "unknown"
}

type globalIDKey struct{}

// WithGlobalRequestID returns a context whose requests carry a global request ID. The service logs it beside its own.
// It ignores an ID that is not "req-" and a UUID.
func WithGlobalRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, globalIDKey{}, id)
}
