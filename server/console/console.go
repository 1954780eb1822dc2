// Package console serves the web console below /console: pages of HTML that answer what is left and where, why a query
// finds nothing, which consumer holds what, and whether a tree is right.
//
// The console is a client of the API in the same process. It sends the token of its user, so authentication, policy,
// limits and logs are those of the API. It keeps nothing: a session is a sealed cookie, a page is the answers to at most
// maxCalls calls. It writes nothing to the API except the sample data of an empty service.
//
// It is not for rules of the API, and reads neither the store nor PostgreSQL.
package console

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/server/inside"
	"github.com/berthd/berth/server/querystring"
	"github.com/berthd/berth/server/request"
)

// Bounds of a page: the calls of the API that it makes, those at a time, the time after which it is sent without the
// cards that are not there yet, and the size of a form.
const (
	maxCalls    = 6
	maxParallel = 4
	cardWait    = 250 * time.Millisecond
	pageTimeout = 30 * time.Second
	maxForm     = 1 << 20
)

// Options configures a console. The zero value of a field disables what it is for.
type Options struct {
	// API is the handler of the service, to which the calls of the pages go.
	API http.Handler
	// Prefix is the path under which the API is mounted: "" or "/placement".
	Prefix string
	// CardWait is the time after which a page is sent without the cards that are not there yet; 0: 250 ms.
	CardWait time.Duration
	// Settings are the choices of the operator.
	Settings Settings
	// Identify returns the caller of a token, and when the token expires (zero: unknown). Nil with noauth2.
	Identify func(r *http.Request) (Identity, error)
	// Keystone requests tokens of users; nil with other methods.
	Keystone Keystone
	Log      *slog.Logger
}

// Console is an http.Handler of the pages. Close ends its calls.
type Console struct {
	options  Options
	inside   *inside.Transport
	api      *client.Client
	machines *baremetal.Client
	mux      *http.ServeMux
	pages    pageSet
	patterns []string // of the pages, for tests
	origins  *http.CrossOriginProtection
	sealer   *sealer
	names    atomic.Pointer[names]
}

// New returns the console of a service. It fails if a setting is invalid.
func New(options Options) (*Console, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	options.CardWait = cmp.Or(options.CardWait, cardWait)
	c := &Console{options: options, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection()}
	var err error
	if c.pages, err = parsePages(templates); err != nil {
		return nil, err
	}
	if c.sealer, err = newSealer(options.Settings.Key); err != nil {
		return nil, err
	}
	if options.Settings.URL != "" {
		if err := c.origins.AddTrustedOrigin(options.Settings.URL); err != nil {
			return nil, err
		}
	}
	c.inside = inside.Serve(options.API, options.Log)
	c.api, err = client.New(inside.URL+options.Prefix, client.WithTransport(caller{c.inside}),
		client.WithRetries(client.Retries{Attempts: 1}), client.WithUserAgent("berth-console"))
	if err != nil {
		return nil, err
	}
	c.machines = baremetal.New(c.api)
	c.Reload(options.Settings.AggregateNames, options.Settings.Shapes)
	c.routes()
	return c, nil
}

// Close cancels the running calls.
func (c *Console) Close() error { return c.inside.Close() }

// routes adds all pages. A page file adds its own in a function of its name.
func (c *Console) routes() {
	c.mux.HandleFunc("GET /assets/{hash}/{file}", c.asset)
	c.signInRoutes()
	c.overviewRoutes()
	c.candidateRoutes()
	c.providerRoutes()
	c.nameRoutes()
	c.baremetalRoutes()
	c.auditRoutes()
	c.compareRoutes()
	c.capacityRoutes()
	c.startRoutes()
}

// page adds a page: the handler returns the frame of a template, or an error.
func (c *Console) page(pattern, template string, build func(*visit) error) {
	c.patterns = append(c.patterns, pattern)
	c.mux.HandleFunc(pattern, func(_ http.ResponseWriter, r *http.Request) {
		v := visitOf(r)
		if v.session == nil && c.needsSession(pattern) {
			v.signIn("")
			return
		}
		err := build(v)
		switch {
		case v.done:
		case err != nil:
			v.fail(err)
		case len(v.faults) > 0 && !v.fragment:
			v.render(http.StatusBadRequest, template)
		default:
			v.render(http.StatusOK, template)
		}
	})
}

// Mount returns a function that creates the console of a service, as server.Options.Console. It panics if an option is
// invalid, which New returns as an error.
func Mount(options Options) func(http.Handler) (func(http.ResponseWriter, *http.Request, string), func() error) {
	return func(service http.Handler) (func(http.ResponseWriter, *http.Request, string), func() error) {
		options.API = service
		made, err := New(options)
		if err != nil {
			panic(err)
		}
		return made.Serve, made.Close
	}
}

// Serve handles a request to the console. The path is the part below the address of the console.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request, rest string) {
	setHeaders(w.Header())
	if err := c.check(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	rest = cmp.Or(rest, "/")
	allowed := c.allowed(r, rest)
	if len(allowed) > 0 && !slices.Contains(allowed, r.Method) {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		http.Error(w, "This address of the console takes "+strings.Join(allowed, ", ")+".", http.StatusMethodNotAllowed)
		return
	}
	info := request.From(r.Context())
	base := info.Outer + strings.TrimSuffix(r.URL.Path, rest)
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(pageTimeout))
	}
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	v := &visit{c: c, w: w, base: base, calls: newCalls(), requestID: info.ID}
	v.r = below(r.WithContext(context.WithValue(ctx, visitKey{}, v)), rest)
	v.session = c.session(v.r)
	var err error
	if v.address, err = querystring.Parse(r.URL.RawQuery); err != nil {
		v.fail(invalid("The address cannot be read: %v.", err))
		return
	}
	v.only = v.query("card")
	v.fragment = v.only != "" && r.Header.Get("HX-Request") == "true"
	if len(allowed) == 0 {
		v.notFound()
		return
	}
	c.mux.ServeHTTP(w, v.r)
}

// send writes a rendered response.
func send(w http.ResponseWriter, status int, contentType string, body *bytes.Buffer) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = io.Copy(w, body)
}
