package cors

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options say who may use the API from a browser, and how. The zero value of
// every field is safe: it stands for the default named beside it. A list that is empty
// and not nil is an empty list.
type Options struct {
	// AllowedOrigins are compared exactly; "*" stands for every origin. None,
	// the default, switches the middleware off.
	AllowedOrigins []string
	// AllowHeaders are the request headers that a page may set, beside the
	// simple ones. Default: DefaultAllowHeaders.
	AllowHeaders []string
	// ExposeHeaders are the response headers that a page may read. Default:
	// DefaultExposeHeaders.
	ExposeHeaders []string
	// AllowMethods are the methods that a preflight may ask for. Default:
	// DefaultAllowMethods.
	AllowMethods []string
	// MaxAge is how long a browser may remember a preflight. Default:
	// DefaultMaxAge; a negative value leaves the header out.
	MaxAge time.Duration
	// RefuseCredentials leaves out the permission to send cookies and the
	// like, which is given by default.
	RefuseCredentials bool
}

// DefaultAllowHeaders lists the request headers that clients of the API set.
func DefaultAllowHeaders() []string {
	return []string{
		"X-Auth-Token", "X-Openstack-Request-Id", "X-Identity-Status", "X-Roles",
		"X-Service-Catalog", "X-User-Id", "X-Tenant-Id", "OpenStack-API-Version",
	}
}

// DefaultExposeHeaders lists the response headers that clients of the API read.
func DefaultExposeHeaders() []string {
	return []string{
		"X-Auth-Token", "X-Openstack-Request-Id", "X-Subject-Token", "X-Service-Token",
		"OpenStack-API-Version",
	}
}

// DefaultAllowMethods lists the methods that are allowed.
func DefaultAllowMethods() []string {
	return []string{"GET", "PUT", "POST", "DELETE", "PATCH"}
}

// DefaultMaxAge is how long a preflight may be remembered.
const DefaultMaxAge = time.Hour

// Headers that need no permission. The standard calls them simple; the second
// half are simple response headers, which browsers of old asked for as well.
var simpleHeaders = []string{
	"Accept", "Accept-Language", "Content-Language", "Content-Type",
	"Cache-Control", "Expires", "Last-Modified", "Pragma",
}

// grants are the options in the form that requests are held against.
type grants struct {
	origins map[string]bool
	methods map[string]bool
	// headers are in lower case.
	headers map[string]bool
	// The rest are values of response headers; an empty one is not sent.
	expose, maxAge string
	credentials    bool
}

func newGrants(o Options) *grants {
	g := &grants{
		origins:     setOf(o.AllowedOrigins),
		methods:     setOf(orDefault(o.AllowMethods, DefaultAllowMethods())),
		headers:     map[string]bool{},
		expose:      strings.Join(orDefault(o.ExposeHeaders, DefaultExposeHeaders()), ","),
		credentials: !o.RefuseCredentials,
	}
	for _, name := range slices.Concat(orDefault(o.AllowHeaders, DefaultAllowHeaders()), simpleHeaders) {
		g.headers[strings.ToLower(name)] = true
	}
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.MaxAge > 0 {
		g.maxAge = strconv.FormatInt(int64(o.MaxAge/time.Second), 10)
	}
	return g
}

// origin gives the value for Access-Control-Allow-Origin: the origin itself if
// it is listed, an asterisk if only that lets it in.
func (g *grants) origin(origin string) (value string, ok bool) {
	switch {
	case g.origins[origin]:
		return origin, true
	case origin != "" && g.origins["*"]:
		return "*", true
	}
	return "", false
}

// allHeaders says whether every one of the requested headers may be set.
func (g *grants) allHeaders(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return !g.headers[strings.ToLower(name)]
	})
}

func orDefault(list, otherwise []string) []string {
	if list == nil {
		return otherwise
	}
	return list
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, item := range list {
		if item != "" {
			set[item] = true
		}
	}
	return set
}
