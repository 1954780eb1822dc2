package server_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/wire/forwarded"
)

const forwardedHeader = `for="[2001:db8::7]:99";proto=https;host=cloud.example.org, for=10.0.0.1`

// behindProxy returns a server under /placement that trusts proxies.
func behindProxy(t *testing.T, proxies *forwarded.Proxies) *watched {
	t.Helper()
	return newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.Prefix, options.Proxies, options.AccessLog = "/placement", proxies, true
	})
}

// made creates a class as a client behind a proxy, and returns the Location.
func (s *watched) made(name string) string {
	s.t.Helper()
	answer := s.ask(http.MethodPut, "/placement/resource_classes/"+name, http.NoBody,
		"Forwarded", forwardedHeader, "X-Forwarded-Prefix", "/cloud")
	if answer.Code != http.StatusCreated {
		s.t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	return answer.Header().Get("Location")
}

func TestRoute_LinksBehindProxy_UseExternalURL(t *testing.T) {
	t.Parallel()
	s := behindProxy(t, new(forwarded.Proxies))
	if got, want := s.made("CUSTOM_A"), "https://cloud.example.org/cloud/placement/resource_classes/CUSTOM_A"; got != want {
		t.Errorf("Location: %s, want %s", got, want)
	}
	class := s.ask(http.MethodGet, "/placement/resource_classes/CUSTOM_A", http.NoBody, "X-Forwarded-Prefix", "/cloud/")
	if want := `"href":"/cloud/placement/resource_classes/CUSTOM_A"`; !strings.Contains(class.Body.String(), want) {
		t.Errorf("%s lacks %s", class.Body, want)
	}
	for path, want := range map[string]string{
		"/placement/v1": `"href":"https://cloud.example.org/cloud/placement/v1`,
		"/v1":           `"href":"https://cloud.example.org/cloud/v1`,
	} {
		answer := s.ask(http.MethodGet, path, http.NoBody, "X-Forwarded-Proto", "https", "X-Forwarded-Host", "cloud.example.org", "X-Forwarded-Prefix", "/cloud")
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("%s: %s lacks %s", path, answer.Body, want)
		}
	}
	document := s.send(http.MethodGet, "/openapi/1.39.json", "X-Forwarded-Prefix", "/cloud")
	if want := `"url": "/cloud/placement"`; !strings.Contains(document.Body.String(), want) {
		t.Errorf("the document lacks %s", want)
	}
	if log := s.log.String(); !strings.Contains(log, "client=2001:db8::7 ") {
		t.Errorf("the log lacks the address of the client: %s", log)
	}
}

func TestRoute_LinksUntrustedProxy_UseOwnURL(t *testing.T) {
	t.Parallel()
	for name, proxies := range map[string]*forwarded.Proxies{
		"no proxies": nil, "from elsewhere": {Trusted: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}},
	} {
		s := behindProxy(t, proxies)
		if got, want := s.made("CUSTOM_A"), "http://example.com/placement/resource_classes/CUSTOM_A"; got != want {
			t.Errorf("%s: Location: %s, want %s", name, got, want)
		}
		if log := s.log.String(); strings.Contains(log, "2001:db8") || !strings.Contains(log, "client=192.0.2.1 ") {
			t.Errorf("%s: the log: %s", name, log)
		}
	}
}
