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
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/server/wire/inside"
	"github.com/berthd/berth/server/wire/request"
)

// Bounds of a page: the calls of the API that it makes, those at a time, the time after which it is sent without the
// cards that are not there yet. input.go has those of its address and form, render.go those of its bytes.
const (
	maxCalls    = 6
	maxParallel = 4
	cardWait    = 250 * time.Millisecond
	pageTimeout = 30 * time.Second
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
	// Permits reports whether the policy permits a rule to a caller, so that pages have no links to what it denies; nil: they have all.
	Permits func(who Identity, rule string) bool
	// Keystone requests tokens of users; nil with other methods.
	Keystone Keystone
	// Issuer is that of the tokens of OpenID Connect; empty with other methods.
	Issuer string
	Log    *slog.Logger
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
	inputs   map[string]*pageInput
	// rendering bounds the pages that are rendered at a time, since rendering only computes.
	rendering *semaphore.Weighted
	origins   *http.CrossOriginProtection
	sealer    *sealer
	names     atomic.Pointer[names]
}

// New returns the console of a service. It fails if a setting is invalid.
func New(options Options) (*Console, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	options.CardWait = cmp.Or(options.CardWait, cardWait)
	c := &Console{options: options, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection(), inputs: map[string]*pageInput{}}
	c.rendering = semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/2)))
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

// routes adds all pages.
func (c *Console) routes() {
	c.mux.HandleFunc(assetPattern, c.asset)
	c.page("GET /{$}", "plan", (*visit).overview, "shape", "class", "from")
	c.page("GET /find", "list", (*visit).find, "q")
	for _, kind := range []string{"", ".json", ".csv"} {
		c.page("GET /providers"+kind, "list", (*visit).providers, "view", "q", "trait", "aggregate", "class", "sort", "from", "marker")
		c.page("GET /consumers"+kind, "list", (*visit).consumers, "q", "project", "user", "type", "class", "tree", "aggregate", "provider", "lease", "sort", "marker")
		c.page("GET /capacity"+kind, "plan", (*visit).capacity, "shape", "class", "group_by", "marker")
	}
	c.page("GET /providers/{uuid}", "tree", (*visit).tree, "at", "consumer", "open", "wait", "class")
	c.page("GET /providers/{uuid}/consumers", "list", (*visit).treeConsumers, "q", "project", "user", "type", "class", "provider", "lease", "sort", "marker")
	c.page("GET /providers/{uuid}/traits", "list", (*visit).treeTraits)
	c.page("GET /providers/{uuid}/api", "list", (*visit).treeAPI)
	c.page("GET /providers/{uuid}/compare", "compare", (*visit).compare, "with")
	c.page("POST /compare", "compare", (*visit).previewReshape).maxForm = maxLargeForm
	c.page("GET /consumers/{uuid}", "consumer", (*visit).consumer, "class")
	c.page("GET /classes/{name}", "record", (*visit).className, "from")
	c.page("GET /traits/{name}", "record", (*visit).traitName, "from")
	c.page("GET /aggregates/{uuid}", "record", (*visit).aggregate, "from")
	c.page("GET /candidates", "candidates", (*visit).candidates).isQuery = true
	c.page("GET /candidates/funnel", "record", (*visit).funnel).isQuery = true
	c.page("POST /candidates/claim", "claim", (*visit).claim).maxForm = maxLargeForm
	c.page("GET /explanations", "list", (*visit).explanations, "kind", "reason", "since", "sort", "marker")
	c.page("GET /explanations/{request}", "explanation", (*visit).explanation)
	c.page("GET /history", "list", (*visit).history, "provider", "tree", "consumer", "project", "user", "request", "topic", "since", "until", "marker")
	c.page("GET /capacity/what-if", "what-if", (*visit).whatIf, "shape", "like", "count", "class", "allocation_ratio", "reserved")
	c.page("GET /baremetal", "list", (*visit).nodes, "state", "class", "conductor", "maintenance", "allocated", "retired")
	c.page("GET /baremetal/allocations", "list", (*visit).nodeAllocations, "state", "class")
	c.page("GET /baremetal/conductors", "list", (*visit).conductors)
	c.page("GET /baremetal/nodes/{id}", "record", (*visit).node)
	c.page("GET /baremetal/allocations/{id}", "record", (*visit).nodeAllocation)
	c.page("GET /consistency", "consistency", (*visit).consistency)
	c.page("GET /audit", "consistency", (*visit).audit)
	c.page("GET /start", "start", (*visit).start)
	c.page("POST /start", "start", (*visit).loadSample)
	c.page("GET /sign-in", "sign-in", (*visit).signInPage, "with", "back")
	c.page("POST /sign-in", "sign-in", (*visit).signInSubmit)
	c.page("POST /sign-out", "sign-in", (*visit).signOut)
	c.page("GET /who", "who", (*visit).whoPage, "back")
	c.page("POST /who", "who", (*visit).whoSubmit)
	c.page("POST /theme", "who", (*visit).themeSubmit)
}

// Patterns returns the methods and paths of all addresses of the console, for a test that visits them.
func (c *Console) Patterns() []string { return append([]string{assetPattern}, c.patterns...) }

// assetPattern is the address of the assets.
const assetPattern = "GET /assets/{hash}/{file}"

// page adds a page, which knows the parameters: build fills the frame of a template, or returns an error.
func (c *Console) page(pattern, template string, build func(*visit) error, parameters ...string) *pageInput {
	input := &pageInput{parameters: append([]string{"card"}, parameters...), maxForm: maxForm}
	c.patterns, c.inputs[pattern] = append(c.patterns, pattern), input
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
	return input
}

// Mount returns a function that creates the console of a service, as server.Options.Console. It panics if an option is
// invalid, which New returns as an error.
func Mount(options Options) func(http.Handler) (func(http.ResponseWriter, *http.Request, string), func() error) {
	return func(service http.Handler) (func(http.ResponseWriter, *http.Request, string), func() error) {
		options.API = service
		console, err := New(options)
		if err != nil {
			panic(err)
		}
		return console.Serve, console.Close
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
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	v := &visit{c: c, w: w, base: base, calls: newCalls(), requestID: info.ID}
	v.r = below(r.WithContext(context.WithValue(ctx, visitKey{}, v)), rest)
	v.session = c.session(v.r)
	_, pattern := c.mux.Handler(v.r)
	if v.reads = c.inputs[pattern]; v.reads == nil {
		v.reads = &pageInput{} // an asset, or no page
	}
	var err error
	if v.address, err = v.reads.parse(r.URL.RawQuery); err != nil {
		v.fail(err)
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

// setHeaders sets the headers of all responses. With the Referrer-Policy no-referrer browsers send the origin null with
// forms, which the check of origins rejects.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "+
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-store")
	h.Add("Vary", "Cookie, HX-Request")
}

// errCrossSite is the error of a request that a page of another site sends.
var errCrossSite = invalid("The console does not answer requests of other sites, except links that open it as a page.")

// check returns an error for requests of pages of other sites. A link that opens the console as a page is allowed.
// Browsers without Sec-Fetch-Site may read: reading changes nothing, and their pages cannot see the response.
func (c *Console) check(r *http.Request) error {
	site := r.Header.Get("Sec-Fetch-Site")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		// A trusted proxy that changes Host reports the original one.
		if c.origins.Check(r) != nil && (site != "" || r.Header.Get("Origin") != requestBase(r)) {
			return errCrossSite
		}
		return nil
	}
	switch site {
	case "", "same-origin", "none":
		return nil
	}
	if r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return nil
	}
	return errCrossSite
}

// below returns a request with the path below the console.
func below(r *http.Request, path string) *http.Request {
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = path, ""
	return inner
}

// allowed returns the methods that a path takes; none: there is no page. The mux would redirect a path that is not clean,
// such as "//" or "/a/..", to one outside the console.
func (c *Console) allowed(r *http.Request, rest string) (methods []string) {
	if path.Clean(rest) != rest {
		return nil
	}
	inner := below(r, rest)
	for _, inner.Method = range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if _, pattern := c.mux.Handler(inner); pattern != "" {
			methods = append(methods, inner.Method)
		}
	}
	return methods
}

// requestBase returns the scheme and host of a request from the view of the browser.
func requestBase(r *http.Request) string { return request.From(r.Context()).Base }
