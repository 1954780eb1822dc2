package forwarded

import (
	"net/netip"
	"strings"
	"testing"
)

func TestAuth_ClientNetwork_IsThatOfTheFirstUntrustedSender(t *testing.T) {
	t.Parallel()
	all := new(Proxies)
	some := &Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/28"), netip.MustParsePrefix("10.0.0.0/8")}}
	var none *Proxies
	for name, c := range map[string]struct {
		proxies *Proxies
		peer    string
		headers []string
		want    string
	}{
		"no proxies":                  {none, "", []string{"X-Forwarded-For: 198.51.100.7"}, "192.0.2.9"},
		"no headers":                  {some, "", nil, "192.0.2.9"},
		"a peer that is no proxy":     {some, "203.0.113.1:1", []string{"X-Forwarded-For: 198.51.100.7"}, "203.0.113.1"},
		"one proxy":                   {some, "", []string{"X-Forwarded-For: 198.51.100.7"}, "198.51.100.7"},
		"any proxy":                   {all, "203.0.113.1:1", []string{"X-Forwarded-For: 198.51.100.7:80"}, "198.51.100.7"},
		"two proxies":                 {some, "", []string{"X-Forwarded-For: 198.51.100.7, 10.0.0.2"}, "198.51.100.7"},
		"two proxies, all trusted":    {all, "", []string{"X-Forwarded-For: 198.51.100.7, 10.0.0.2"}, "10.0.0.2"},
		"two headers":                 {some, "", []string{"X-Forwarded-For: 198.51.100.7", "X-Forwarded-For: 10.0.0.2"}, "198.51.100.7"},
		"an address that is made up":  {some, "", []string{"X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: 198.51.100.7"}, "198.51.100.7"},
		"one made up, all trusted":    {all, "", []string{"X-Forwarded-For: 1.2.3.4, 198.51.100.7"}, "198.51.100.7"},
		"the standard's header":       {some, "", []string{`Forwarded: for=1.2.3.4, for="198.51.100.7:80";proto=https, for=10.0.0.2`}, "198.51.100.7"},
		"it comes before the older":   {some, "", []string{`Forwarded: for=198.51.100.7`, "X-Forwarded-For: 1.2.3.4"}, "198.51.100.7"},
		"it names no address":         {some, "", []string{`Forwarded: for=1.2.3.4, proto=https`}, "192.0.2.9"},
		"it cannot be read":           {some, "", []string{`Forwarded: for="1.2.3.4`, `Forwarded: for=198.51.100.7`}, "192.0.2.9"},
		"headers that are too long":   {some, "", []string{"X-Forwarded-For: " + strings.Repeat("10.0.0.2,", 1000) + "198.51.100.7"}, "192.0.2.9"},
		"nonsense behind a proxy":     {some, "", []string{"X-Forwarded-For: <script>, 10.0.0.2"}, "10.0.0.2"},
		"a hidden name":               {some, "", []string{"Forwarded: for=_Hidden"}, "_hidden"},
		"an IPv6 client":              {none, "[2001:db8:1:2:3:4:5:6]:1", nil, "2001:db8:1:2::/64"},
		"a forwarded IPv6 client":     {all, "", []string{`Forwarded: for="[2001:db8:1:2::7]:80"`}, "2001:db8:1:2::/64"},
		"an IPv6 client with a zone":  {none, "[fe80::1%eth0]:1", nil, "fe80::/64"},
		"an IPv4 address within IPv6": {none, "[::ffff:198.51.100.7]:1", nil, "198.51.100.7"},
		"a Unix socket":               {none, "@", nil, ""},
		"a proxy on a Unix socket":    {some, "@", []string{"X-Forwarded-For: 198.51.100.7"}, "198.51.100.7"},
	} {
		r := asked(c.headers...)
		if c.peer != "" {
			r.RemoteAddr = c.peer
		}
		if got := c.proxies.Network(r); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
