package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/cmd/berth/apicommand"
	"github.com/berthd/berth/cmd/berth/frame"
)

// hosts creates providers with one VCPU each.
func hosts(t *testing.T, environ []string, names ...string) {
	t.Helper()
	for _, name := range names {
		for _, line := range []string{"provider create " + name, "inventory set " + name + " --resource VCPU=1"} {
			if got := runCommand(t, environ, strings.Fields(line)...); got.code != frame.ExitOK {
				t.Fatalf("%s: %s", line, got.stderr)
			}
		}
	}
}

func TestCLI_CandidateListManyProviders_ShowsAllNames(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t), "BERTH_DEBUG_HTTP=true"}
	var names []string
	for i := range apicommand.FewProviders + 1 {
		names = append(names, fmt.Sprintf("host-%02d", i))
	}
	hosts(t, environ, names...)
	got := runCommand(t, environ, "candidate", "list", "--resources", "VCPU:1", "--limit", "0")
	for _, name := range names {
		if strings.Count(got.stdout, " "+name+" ") != 1 {
			t.Errorf("%s does not occur exactly once:\n%s", name, got.stdout)
		}
	}
	if requests := strings.Count(got.stderr, "berth: GET "); requests != 2 {
		t.Errorf("requests = %d, want 2:\n%s", requests, got.stderr)
	}
}

// placementProxy returns the address of a proxy to a service that ignores its extensions, as OpenStack Placement does.
// It calls act before it returns candidates without explanations.
func placementProxy(t *testing.T, service string, act func()) string {
	t.Helper()
	target, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if r.In.Header.Get("OpenStack-API-Version") != "" {
				entry, _, _ := strings.Cut(r.In.Header.Get("OpenStack-API-Version"), ",")
				r.Out.Header.Set("OpenStack-API-Version", entry)
			}
		},
		ModifyResponse: func(response *http.Response) error {
			if strings.HasSuffix(response.Request.URL.Path, "/allocation_candidates") && !response.Request.URL.Query().Has("explain") {
				act()
			}
			return nil
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

func TestCLI_ClaimInStepsCandidateFull_TriesNextCandidate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		full []string
		want string
	}{
		"first candidate full":  {[]string{"compute-1"}, ""},
		"second candidate full": {[]string{"compute-2"}, ""},
		"both candidates full":  {[]string{"compute-1", "compute-2"}, "berth: no candidate claimed: concurrent claims used the free capacity of all 2 candidates; retry\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := startService(t)
			environ := []string{"BERTH_URL=" + service}
			hosts(t, environ, "compute-1", "compute-2")
			address := placementProxy(t, service, func() {
				for _, host := range test.full {
					got := runCommand(t, environ, "allocation", "set", uuid.NewString(), "--on", host+"=VCPU:1", "--project=p", "--user=u", "--type=INSTANCE")
					if got.code != frame.ExitOK {
						t.Error(got.stderr)
					}
				}
			})
			got := runCommand(t, []string{"BERTH_URL=" + address}, "claim", uuid.NewString(), "--resources", "VCPU:1", "--project=p", "--user=u", "--type=INSTANCE")
			if (got.code == frame.ExitOK) != (test.want == "") || !strings.HasSuffix(got.stderr, test.want) {
				t.Errorf("exit code %d, %q, want %q", got.code, got.stderr, test.want)
			}
			for _, provider := range []string{"compute-1", "compute-2"} {
				if got := runCommand(t, environ, "usage", "show", provider); got.stdout != "CLASS  USED\nVCPU      1\n" {
					t.Errorf("%s: %s", provider, got.stdout)
				}
			}
		})
	}
}
