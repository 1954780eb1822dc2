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

// Option is a choice for New.
type Option func(*options)

type options struct {
	auth      func(*http.Client) (authenticator, error)
	http      *http.Client
	transport http.RoundTripper
	retries   Retries
	agent     string
	log       *slog.Logger
	refresh   time.Duration
}

// WithNoAuth is for a service that believes what its clients say: the user, the
// project (empty: named like the user), and the roles, admin and service if none
// is given. It is the default, with the user admin.
func WithNoAuth(user, project string, roles ...string) Option {
	return func(o *options) {
		o.auth = func(*http.Client) (authenticator, error) { return noAuth(user, project, roles...), nil }
	}
}

// WithToken sends this token with every request, for as long as it is valid.
func WithToken(token string) Option {
	return func(o *options) {
		o.auth = func(*http.Client) (authenticator, error) {
			return fixed{http.Header{tokenHeader: {token}}}, nil
		}
	}
}

// KeystoneOptions say which endpoint of the catalog is meant.
type KeystoneOptions struct {
	// Region may be empty where there is one.
	Region string
	// Interface is public, internal or admin; empty: public.
	Interface string
	// ServiceType is the service's in the catalog; empty: placement. For package
	// client/baremetal it is baremetal.
	ServiceType string
}

// WithKeystone gets a token from Keystone, version 3, when it is first needed,
// another one shortly before it expires, and once if the service refuses it. The
// identity endpoint of the options may end in /v3 or before that.
func WithKeystone(who gophercloud.AuthOptions, which KeystoneOptions) Option {
	return func(o *options) {
		o.auth = func(over *http.Client) (authenticator, error) { return newKeystone(who, which, over) }
	}
}

// WithHTTPClient takes what a client was set up with, such as certificates,
// proxies and a timeout, which is for a call with all its retries. The client
// given is copied, not changed.
func WithHTTPClient(given *http.Client) Option { return func(o *options) { o.http = given } }

// WithTransport sends requests through this, instead of a connection pool of this
// package. It wins over the transport of WithHTTPClient.
func WithTransport(given http.RoundTripper) Option { return func(o *options) { o.transport = given } }

// WithRetries says how often, and how fast, what can be repeated is repeated.
func WithRetries(given Retries) Option { return func(o *options) { o.retries = given } }

// WithUserAgent replaces "berth-client/<version>".
func WithUserAgent(agent string) Option { return func(o *options) { o.agent = agent } }

// WithLogger tells of every retry, and with the level debug of every request.
// Without it nothing is logged.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithRefresh is for provider trees: what is known of a provider is read again
// when it is so old. The default is 300 seconds; 0: it is read once.
func WithRefresh(age time.Duration) Option { return func(o *options) { o.refresh = age } }

// pool is shared by all clients that are not given a transport. A service that
// accepts connections and never answers must not stop an agent for ever; the
// longest reshape takes a fraction of this.
var pool = func() http.RoundTripper {
	shared := http.DefaultTransport.(*http.Transport).Clone()
	shared.ResponseHeaderTimeout = 2 * time.Minute
	shared.MaxIdleConnsPerHost = 8
	// Proxies close what is idle for 5 s and more, and a write that meets the close
	// on its way has an unknown outcome. So this side closes first.
	shared.IdleConnTimeout = 4 * time.Second
	return shared
}()

// clients are copies of the client given: the outer one is for the service and
// gets the transport of this package, the inner one is below that and serves
// Keystone, too.
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
		// The API has no redirects. To follow one would show a token to whoever it
		// names, and turn a write into a read.
		copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &copied, &under
}

// version is that of the module, for the User-Agent.
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

// WithGlobalRequestID makes the service log an id of the caller's with every
// request of the context, beside its own. The id must be "req-" and a uuid, or
// the service ignores it.
func WithGlobalRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, globalIDKey{}, id)
}
