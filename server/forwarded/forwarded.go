// Package forwarded says where a client sent its request, and from where, by the
// headers of the proxies between it and this process: Forwarded (RFC 7239), else
// X-Forwarded-Proto, -Host and -For, and beside both X-Forwarded-Prefix (the wire
// contract, section HTTP 12).
//
// Anybody can send these headers. Nothing is read of them unless the operator has
// said that there is a proxy which sets them; a value that cannot be what it claims
// to be counts as not sent, and no request fails for it.
//
// It is not for balancing, and it opens no connection: it reads one request.
package forwarded

import (
	"net"
	"net/http"
	"net/netip"
	"path"
	"regexp"
	"strings"
)

// Proxies are those in front of this process. Nil: there are none, or they say
// nothing.
type Proxies struct {
	// Trusted are the addresses that proxies connect from. Empty: whoever connects
	// is a proxy. What connects to a Unix socket is on this machine, and is trusted.
	Trusted []netip.Prefix
}

// Seen is a request as the client sees it.
type Seen struct {
	// Scheme is "http" or "https".
	Scheme string
	// Host is the name, and the port if it is not the usual one.
	Host string
	// Client is the address of the client without its port, or the name that a proxy
	// has given it instead; empty for one on a Unix socket.
	Client string
	// Prefix is what the proxy has cut off from the beginning of the path: "", or a
	// path without a slash at its end.
	Prefix string
}

// Read tells how the client sees a request.
func (p *Proxies) Read(r *http.Request) Seen {
	seen := Seen{Scheme: "http", Host: r.Host, Client: hostOf(r.RemoteAddr)}
	if r.TLS != nil {
		seen.Scheme = "https"
	}
	if p == nil || !p.trusts(seen.Client) {
		return seen
	}
	told := toldBy(r.Header)
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

// trusts says whether an address is that of a proxy.
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

// toldBy is what the headers say, unchecked. If there is a Forwarded at all, the
// older headers say nothing, also if it cannot be read: a client may have sent them
// past a proxy that only knows the new one.
func toldBy(header http.Header) Seen {
	if values := header.Values("Forwarded"); len(values) > 0 {
		element, _ := First(strings.Join(values, ","))
		return Seen{Scheme: element["proto"], Host: element["host"], Client: element["for"]}
	}
	return Seen{
		Scheme: firstOf(header, "X-Forwarded-Proto"),
		Host:   firstOf(header, "X-Forwarded-Host"),
		Client: firstOf(header, "X-Forwarded-For"),
	}
}

// firstOf is the first element of a list, that of the proxy nearest to the client.
func firstOf(header http.Header, name string) string {
	first, _, _ := strings.Cut(header.Get(name), ",")
	return strings.TrimSpace(first)
}

// hostOf is the address in an address and port, empty where it is no such thing, as
// with Unix sockets.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return host
}

var hostForm = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$`)

// isHost tells what may stand in a URL between the scheme and the path.
func isHost(text string) bool { return hostForm.MatchString(text) }

// obfuscated are the names that proxies give to clients whom they do not want to
// name, RFC 7239 section 6.3.
var obfuscated = regexp.MustCompile(`^_[A-Za-z0-9._-]{1,64}$`)

// nodeOf is who asks: an address without brackets and port, "unknown", or a name
// that begins with a low line. Anything else is none, so that nobody writes into the
// log what they like.
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

// prefixOf is a plain path without a slash at its end, or nothing.
func prefixOf(text string) string {
	text = strings.TrimSuffix(strings.TrimSpace(text), "/")
	if !plainPath.MatchString(text) || path.Clean(text) != text {
		return ""
	}
	return text
}
