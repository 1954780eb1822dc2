// Package forwarded determines the URL to which a client sent its request, and the address of the client,
// from the headers of the proxies between the client and this process: Forwarded (RFC 7239), else
// X-Forwarded-Proto, -Host and -For, and in both cases X-Forwarded-Prefix
// (docs/contract/http.md#proxy-headers).
//
// Any client can send these headers. The package ignores them unless the operator has configured a proxy
// that sets them. It treats an invalid value as not sent, and no request fails because of one.
//
// It is not for load balancing, and it opens no connections: it reads one request.
package forwarded

import (
	"net"
	"net/http"
	"net/netip"
	"path"
	"regexp"
	"strings"
)

// Proxies describes the proxies in front of this process. Nil means that there are none, or that their
// headers are ignored.
type Proxies struct {
	// Trusted lists the networks from which proxies connect. Empty: every peer is a proxy. A peer on a
	// Unix socket is on this machine, and is trusted.
	Trusted []netip.Prefix
}

// ClientView is a request as the client sent it to the proxy.
type ClientView struct {
	// Scheme is "http" or "https".
	Scheme string
	// Host is the host name, with the port unless it is the default of the scheme.
	Host string
	// Client is the address of the client without its port, or the name that a proxy gave it; empty for a
	// client on a Unix socket.
	Client string
	// Prefix is the part of the path that the proxy removed: "", or a path without a trailing slash.
	Prefix string
}

// Read returns the request as the client sent it.
func (p *Proxies) Read(r *http.Request) ClientView {
	seen := ClientView{Scheme: "http", Host: r.Host, Client: hostOf(r.RemoteAddr)}
	if r.TLS != nil {
		seen.Scheme = "https"
	}
	if p == nil || !p.trusts(seen.Client) {
		return seen
	}
	told := parseHeaders(r.Header)
	if scheme := strings.ToLower(told.Scheme); scheme == "http" || scheme == "https" {
		seen.Scheme = scheme
	}
	if isHost(told.Host) {
		seen.Host = told.Host
	}
	if client := nodeOf(told.Client); client != "" {
		seen.Client = client
	}
	seen.Prefix = prefixOf(r.Header.Get("X-Forwarded-Prefix"))
	return seen
}

// trusts reports whether an address is that of a proxy.
func (p *Proxies) trusts(client string) bool {
	if len(p.Trusted) == 0 || client == "" {
		return true
	}
	address, err := netip.ParseAddr(client)
	if err != nil {
		return false
	}
	address = address.Unmap().WithZone("")
	for _, trusted := range p.Trusted {
		if trusted.Contains(address) {
			return true
		}
	}
	return false
}

// parseHeaders returns the values of the headers without validation. If there is a Forwarded header, even
// an invalid one, it ignores the older headers: a client may have sent them through a proxy that sets only
// Forwarded.
func parseHeaders(header http.Header) ClientView {
	if values := header.Values("Forwarded"); len(values) > 0 {
		element, _ := First(strings.Join(values, ","))
		return ClientView{Scheme: element["proto"], Host: element["host"], Client: element["for"]}
	}
	return ClientView{
		Scheme: firstOf(header, "X-Forwarded-Proto"),
		Host:   firstOf(header, "X-Forwarded-Host"),
		Client: firstOf(header, "X-Forwarded-For"),
	}
}

// firstOf returns the first element of a list, which the proxy nearest to the client has written.
func firstOf(header http.Header, name string) string {
	first, _, _ := strings.Cut(header.Get(name), ",")
	return strings.TrimSpace(first)
}

// hostOf returns the host of an address with port, empty for other texts, such as Unix sockets.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return host
}

var hostForm = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$`)

// isHost reports whether text is valid as the authority of a URL.
func isHost(text string) bool { return hostForm.MatchString(text) }

// obfuscated matches the identifiers that proxies use to hide the address of a client, RFC 7239 section
// 6.3.
var obfuscated = regexp.MustCompile(`^_[A-Za-z0-9._-]{1,64}$`)

// nodeOf returns the client in a Forwarded "for": an address without brackets and port, "unknown", or an
// obfuscated identifier. It returns "" for other texts, so that a client cannot write arbitrary text into
// the log.
func nodeOf(text string) string {
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return address.String()
	}
	if port := strings.LastIndexByte(text, ':'); port >= 0 {
		text = text[:port]
	}
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return address.String()
	}
	if strings.EqualFold(text, "unknown") || obfuscated.MatchString(text) {
		return strings.ToLower(text)
	}
	return ""
}

var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+$`)

// maxPrefix is the maximum size of a prefix in bytes. Responses have it in each link.
const maxPrefix = 1 << 10

// prefixOf returns a plain path without a trailing slash, or "", also for one longer than maxPrefix.
func prefixOf(text string) string {
	text = strings.TrimSuffix(strings.TrimSpace(text), "/")
	if len(text) > maxPrefix || !plainPath.MatchString(text) || path.Clean(text) != text {
		return ""
	}
	return text
}
