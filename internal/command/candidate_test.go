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

// hosts creates providers that have one VCPU each.
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
			t.Errorf("%s is not there once:\n%s", name, got.stdout)
		}
	}
	if requests := strings.Count(got.stderr, "berth: GET "); requests != 2 {
		t.Errorf("%d requests:\n%s", requests, got.stderr)
	}
}

// rival acts right after candidates were told, before they can be claimed.
type rival struct {
	act func()
}

func (r rival) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if strings.HasSuffix(request.URL.Path, "/allocation_candidates") {
		r.act()
	}
	return response, err
}

func TestCLI_ClaimCandidateFull_TriesNextCandidate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		taken []string
		want  string
	}{
		"one is held by another consumer": {[]string{"compute-1"}, ""},
		"the other is":                    {[]string{"compute-2"}, ""},
		"both are taken by someone else":  {[]string{"compute-1", "compute-2"}, "no candidate claimed: concurrent claims used the free capacity of all 2 candidates; retry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := startService(t)
			environ := []string{"BERTH_URL=" + url}
			hosts(t, environ, "compute-1", "compute-2")
			service, err := client.New(url, client.WithTransport(rival{func() {
				for _, host := range test.taken {
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
			asked := &apicommand.CandidateRequest{Asked: client.CandidateQuery{Resources: "VCPU:1", Limit: 10}}
			err = apicommand.Claim(t.Context(), host, service, uuid.New(), asked, apicommand.OwnerFlags{Project: "p", User: "u", Kind: "INSTANCE"})
			if said := fmt.Sprint(err); test.want == "" && err != nil || test.want != "" && said != test.want {
				t.Errorf("the claim: %v", err)
			}
			for _, one := range []string{"compute-1", "compute-2"} {
				if got := runCommand(t, environ, "usage", "show", one); got.stdout != "CLASS  USED\nVCPU      1\n" {
					t.Errorf("%s: %s", one, got.stdout)
				}
			}
		})
	}
}
