package command

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/apicommand"
	"github.com/berthd/berth/internal/frame"
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

// competitor is a transport that calls act between the response with the candidates and the claim.
type competitor struct {
	act func()
}

func (r competitor) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if strings.HasSuffix(request.URL.Path, "/allocation_candidates") {
		r.act()
	}
	return response, err
}

func TestCLI_ClaimCandidateFull_TriesNextCandidate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		full []string
		want string
	}{
		"first candidate full":  {[]string{"compute-1"}, ""},
		"second candidate full": {[]string{"compute-2"}, ""},
		"both candidates full":  {[]string{"compute-1", "compute-2"}, "no candidate claimed: concurrent claims used the free capacity of all 2 candidates; retry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := startService(t)
			environ := []string{"BERTH_URL=" + url}
			hosts(t, environ, "compute-1", "compute-2")
			service, err := client.New(url, client.WithTransport(competitor{func() {
				for _, host := range test.full {
					got := runCommand(t, environ, "allocation", "set", uuid.NewString(), "--on", host+"=VCPU:1", "--project=p", "--user=u", "--type=INSTANCE")
					if got.code != frame.ExitOK {
						t.Error(got.stderr)
					}
				}
			}}))
			if err != nil {
				t.Fatal(err)
			}
			host := &frame.Frame{Stdout: io.Discard, Stderr: io.Discard}
			request := &apicommand.CandidateRequest{Asked: client.CandidateQuery{Resources: "VCPU:1", Limit: 10}}
			err = apicommand.Claim(t.Context(), host, service, uuid.New(), request, apicommand.OwnerFlags{Project: "p", User: "u", Kind: "INSTANCE"})
			if text := fmt.Sprint(err); test.want == "" && err != nil || test.want != "" && text != test.want {
				t.Errorf("error of the claim = %v, want %q", err, test.want)
			}
			for _, provider := range []string{"compute-1", "compute-2"} {
				if got := runCommand(t, environ, "usage", "show", provider); got.stdout != "CLASS  USED\nVCPU      1\n" {
					t.Errorf("%s: %s", provider, got.stdout)
				}
			}
		})
	}
}
