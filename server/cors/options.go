package cors

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options configures the middleware. The zero value of every field is safe: it means the default named
// beside it. A list that is empty and not nil is an empty list.
type Options struct {
	// AllowedOrigins lists the origins, which are compared exactly; "*" allows every origin. Empty, the
	// default, disables the middleware.
	AllowedOrigins []string
	// AllowHeaders lists the request headers that a page may set, in addition to the simple ones. Default:
	// DefaultAllowHeaders.
	AllowHeaders []string
	// ExposeHeaders lists the response headers that a page may read. Default: DefaultExposeHeaders.
	ExposeHeaders []string
	// AllowMethods lists the methods that a preflight may request. Default: DefaultAllowMethods.
	AllowMethods []string
	// MaxAge is how long a browser may cache a preflight. Default: DefaultMaxAge; a negative value omits
	// the header.
	MaxAge time.Duration
	// RefuseCredentials omits the permission to send credentials such as cookies, which is granted by
	// default.
	RefuseCredentials bool
}

// DefaultAllowHeaders returns the request headers that clients of the API set.
func DefaultAllowHeaders() []string {
	return []string{
		"X-Auth-Token", "X-Openstack-Request-Id", "X-Identity-Status", "X-Roles",
		"X-Service-Catalog", "X-User-Id", "X-Tenant-Id", "OpenStack-API-Version",
	}
}

// DefaultExposeHeaders returns the response headers that clients of the API read.
func DefaultExposeHeaders() []string {
	return []string{
		"X-Auth-Token", "X-Openstack-Request-Id", "X-Subject-Token", "X-Service-Token",
		"OpenStack-API-Version",
	}
}

// DefaultAllowMethods returns the allowed methods.
func DefaultAllowMethods() []string {
	return []string{"GET", "PUT", "POST", "DELETE", "PATCH"}
}

// DefaultMaxAge is how long a browser may cache a preflight.
const DefaultMaxAge = time.Hour

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
