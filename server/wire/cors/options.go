package cors

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options configures the middleware. The zero value disables it; Defaults has the values of berth serve.
type Options struct {
	// AllowedOrigins lists the origins, which are compared exactly; "*" allows every origin. If the list is
	// empty, the middleware is disabled.
	AllowedOrigins []string
	// AllowHeaders lists the request headers that a page may set, in addition to the simple ones.
	AllowHeaders []string
	// ExposeHeaders lists the response headers that a page may read.
	ExposeHeaders []string
	// AllowMethods lists the methods that a preflight may request.
	AllowMethods []string
	// MaxAge is how long a browser may cache a preflight, in whole seconds; 0: the header is omitted.
	MaxAge time.Duration
	// AllowCredentials permits the page to send credentials such as cookies.
	AllowCredentials bool
}

// Defaults returns the options for pages of some origins with what clients of the APIs use
// (docs/contract/http.md#cors).
func Defaults(origins ...string) Options {
	return Options{
		AllowedOrigins: origins,
		AllowHeaders: []string{
			"X-Auth-Token", "X-Openstack-Request-Id", "X-Identity-Status", "X-Roles",
			"X-Service-Catalog", "X-User-Id", "X-Tenant-Id", "OpenStack-API-Version",
		},
		ExposeHeaders: []string{
			"X-Auth-Token", "X-Openstack-Request-Id", "X-Subject-Token", "X-Service-Token",
			"OpenStack-API-Version",
		},
		AllowMethods:     []string{"GET", "PUT", "POST", "DELETE", "PATCH"},
		MaxAge:           time.Hour,
		AllowCredentials: true,
	}
}

// simpleHeaders lists the headers that need no permission. The standard calls them simple. The second half
// are simple response headers, which old browsers requested as well.
var simpleHeaders = []string{
	"Accept", "Accept-Language", "Content-Language", "Content-Type",
	"Cache-Control", "Expires", "Last-Modified", "Pragma",
}

// grants contains the options in the form in which requests are checked.
type grants struct {
	origins map[string]bool
	methods map[string]bool
	// headers are in lower case.
	headers map[string]bool
	// expose and the fields after it are values of response headers; an empty value is not sent.
	expose, maxAge string
	credentials    bool
}

func newGrants(o Options) *grants {
	g := &grants{
		origins:     setOf(o.AllowedOrigins),
		methods:     setOf(o.AllowMethods),
		headers:     map[string]bool{},
		expose:      strings.Join(o.ExposeHeaders, ","),
		credentials: o.AllowCredentials,
	}
	for _, name := range slices.Concat(o.AllowHeaders, simpleHeaders) {
		g.headers[strings.ToLower(name)] = true
	}
	if o.MaxAge > 0 {
		g.maxAge = strconv.FormatInt(int64(o.MaxAge/time.Second), 10)
	}
	return g
}

// origin returns the value of Access-Control-Allow-Origin: the origin itself if it is listed, or an
// asterisk if only that allows it.
func (g *grants) origin(origin string) (value string, ok bool) {
	switch {
	case g.origins[origin]:
		return origin, true
	case origin != "" && g.origins["*"]:
		return "*", true
	}
	return "", false
}

// allHeaders reports whether all requested headers are allowed.
func (g *grants) allHeaders(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return !g.headers[strings.ToLower(name)]
	})
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
