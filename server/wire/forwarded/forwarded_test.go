package forwarded

import (
	"crypto/tls"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// asked returns a request from 192.0.2.9 to http://berth:8778.
func asked(headers ...string) *http.Request {
	r := &http.Request{Host: "berth:8778", RemoteAddr: "192.0.2.9:4711", Header: http.Header{}}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	return r
}

var direct = ClientView{Scheme: "http", Host: "berth:8778", Client: "192.0.2.9"}

func TestRoute_ForwardedHeaders_Applied(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		headers []string
		want    ClientView
	}{
		"nothing": {nil, direct},
		"the header of the standard": {[]string{`Forwarded: for=198.51.100.7;proto=https;host=cloud.example.org`},
			ClientView{"https", "cloud.example.org", "198.51.100.7", ""}},
		"its first element": {[]string{`Forwarded: for=198.51.100.7;host=a.example, for=203.0.113.1;host=b.example;proto=https`},
			ClientView{"http", "a.example", "198.51.100.7", ""}},
		"the first of several headers": {[]string{`Forwarded: proto=https`, `Forwarded: proto=http;host=b.example`},
			ClientView{"https", "berth:8778", "192.0.2.9", ""}},
		"in quotes, with a port": {[]string{`Forwarded: For="[2001:db8:cafe::17]:4711"; Proto="HTTPS" ;Host="cloud.example.org:8443"`},
			ClientView{"https", "cloud.example.org:8443", "2001:db8:cafe::17", ""}},
		"a client without a name":       {[]string{`Forwarded: for=unknown`}, ClientView{"http", "berth:8778", "unknown", ""}},
		"a client whose name is hidden": {[]string{`Forwarded: for="_SEVKISEK:_p1"`}, ClientView{"http", "berth:8778", "_sevkisek", ""}},
		"the older headers": {[]string{"X-Forwarded-Proto: https", "X-Forwarded-Host: cloud.example.org", "X-Forwarded-For: 198.51.100.7, 203.0.113.1"},
			ClientView{"https", "cloud.example.org", "198.51.100.7", ""}},
		"the older headers beside the newer": {[]string{"Forwarded: proto=https", "X-Forwarded-Host: cloud.example.org", "X-Forwarded-For: 198.51.100.7"},
			ClientView{"https", "berth:8778", "192.0.2.9", ""}},
		"the older headers beside one that cannot be read": {[]string{"Forwarded: proto", "X-Forwarded-Proto: https"}, direct},
		"a prefix":                {[]string{"X-Forwarded-Prefix: /placement/"}, ClientView{"http", "berth:8778", "192.0.2.9", "/placement"}},
		"a prefix with Forwarded": {[]string{"Forwarded: proto=https", "X-Forwarded-Prefix: /a/b"}, ClientView{"https", "berth:8778", "192.0.2.9", "/a/b"}},
		"an address with a port":  {[]string{"X-Forwarded-For: 198.51.100.7:80"}, ClientView{"http", "berth:8778", "198.51.100.7", ""}},
		"an IPv6 address":         {[]string{"X-Forwarded-For: 2001:db8::1"}, ClientView{"http", "berth:8778", "2001:db8::1", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := new(Proxies).Read(asked(test.headers...)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestRoute_InvalidForwardedHeaders_Ignored(t *testing.T) {
	t.Parallel()
	for _, header := range []string{
		"X-Forwarded-Proto: javascript", "X-Forwarded-Host: evil.example/path", "X-Forwarded-Host: user@evil.example",
		"X-Forwarded-Host: a b", "X-Forwarded-Host: <script>", "X-Forwarded-For: <script>", "X-Forwarded-For: \"quoted\"",
		"X-Forwarded-Prefix: /" + strings.Repeat("a", 1<<10),
		"X-Forwarded-Prefix: placement", "X-Forwarded-Prefix: //evil.example", "X-Forwarded-Prefix: /a/../b",
		"X-Forwarded-Prefix: /a?b", "X-Forwarded-Prefix: /", "X-Forwarded-Prefix: /a b", `Forwarded: host="evil.example/"`,
		`Forwarded: proto=ftp`, `Forwarded: for="x y"`, `Forwarded: proto=https;proto=http`, `Forwarded: proto="https`, "Forwarded: ",
	} {
		if got := new(Proxies).Read(asked(header)); got != direct {
			t.Errorf("%s: got %+v", header, got)
		}
	}
}

func TestRoute_ProxiesNotTrusted_HeadersIgnored(t *testing.T) {
	t.Parallel()
	r := asked("Forwarded: proto=https;host=evil.example;for=203.0.113.1", "X-Forwarded-Prefix: /evil")
	var none *Proxies
	if got := none.Read(r); got != direct {
		t.Errorf("got %+v", got)
	}
	r.TLS = new(tls.ConnectionState)
	if got := none.Read(r); got.Scheme != "https" {
		t.Errorf("scheme = %s on a TLS connection, want https", got.Scheme)
	}
}

func TestRoute_ForwardedHeaders_OnlyFromTrustedProxies(t *testing.T) {
	t.Parallel()
	proxies := &Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/28"), netip.MustParsePrefix("fd00::/8")}}
	for address, want := range map[string]bool{
		"192.0.2.9:1": true, "192.0.2.16:1": false, "[::ffff:192.0.2.9]:1": true, "[fd00::1]:1": true, "[2001:db8::1]:1": false,
		"@": true, "": true, // Unix sockets
	} {
		r := asked("X-Forwarded-Proto: https")
		r.RemoteAddr = address
		if got := proxies.Read(r).Scheme == "https"; got != want {
			t.Errorf("from %s: trusted = %v, want %v", address, got, want)
		}
	}
}

func TestRoute_ForwardedSyntax_FirstElementParsed(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]map[string]string{
		``:                                     {},
		`  `:                                   {},
		`,for=a`:                               {},
		`for=a;;by=b`:                          {"for": "a", "by": "b"},
		`FOR=a;secret="q\"u\\o, t;e"`:          {"for": "a", "secret": `q"u\o, t;e`},
		`for=192.0.2.1:80;proto=http, x`:       {"for": "192.0.2.1:80", "proto": "http"},
		`for=[::1]`:                            {"for": "[::1]"},
		`for=a ; proto=https	,for=b`:           {"for": "a", "proto": "https"},
		`for=""`:                               {"for": ""},
		`host=example.org, this is no grammar`: {"host": "example.org"},
	} {
		if got, ok := First(header); !ok || !maps.Equal(got, want) {
			t.Errorf("%s: got %v %v, want %v", header, got, ok, want)
		}
	}
	for _, header := range []string{`for`, `for=`, `=a`, `for="a`, `for=a proto=b`, `for="a"b`, `for=a;for=b`, `for="\`, "for=\"\x00\"", `for=a=b`, `for = a`} {
		if got, ok := First(header); ok {
			t.Errorf("%s: read as %v", header, got)
		}
	}
}

// FuzzFirst encodes the result in quotes and parses it again: both results must be equal.
func FuzzFirst(f *testing.F) {
	for _, seed := range []string{
		``, `for=192.0.2.60;proto=http;by=203.0.113.43`, `for="[2001:db8:cafe::17]:4711"`, `for=_hidden, for=unknown`,
		`a="\"\\";b=c`, `;;;`, `for="`, `proto=https,`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		element, ok := First(header)
		if !ok {
			if element != nil {
				t.Fatalf("%q: First = %v for an invalid header", header, element)
			}
			return
		}
		var again []string
		for name, value := range element {
			again = append(again, name+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)+`"`)
		}
		reread, ok := First(strings.Join(again, "; "))
		if !ok || !maps.Equal(element, reread) {
			t.Errorf("%q: read %v, and then %v %v", header, element, reread, ok)
		}
		seen := new(Proxies).Read(&http.Request{Host: "berth", RemoteAddr: "192.0.2.9:1", Header: http.Header{"Forwarded": {header}}})
		if seen.Scheme != "http" && seen.Scheme != "https" || strings.ContainsAny(seen.Host+seen.Client, " /\\\"<>\r\n@") {
			t.Errorf("%q: seen %+v", header, seen)
		}
	})
}
