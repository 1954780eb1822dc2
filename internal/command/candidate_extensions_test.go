package command

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/frame"
)

// proxyTo returns the address of a proxy to a service. It calls change with each request.
func proxyTo(t *testing.T, service string, change func(*http.Request)) string {
	t.Helper()
	target, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		change(r.Out)
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// gpuGroups are two groups with a GPU each.
const gpuGroups = "--group _A:resources=VGPU:1 --group _B:resources=VGPU:1"

func TestCLI_CandidateExtensionFlags_SentWithVersion(t *testing.T) {
	t.Parallel()
	var got []string
	environ := []string{"BERTH_URL=" + proxyTo(t, startService(t), func(request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/allocation_candidates") {
			query, err := url.QueryUnescape(request.URL.RawQuery)
			if err != nil {
				t.Error(err)
			}
			got = append(got, request.Header.Get("OpenStack-API-Version"), query)
		}
	})}
	const aggregate = "a99e0000-0000-4000-8000-000000000001"
	line := "candidate list --resources VCPU:1 " + gpuGroups + " --isolate _A,_B --same-subtree _A,!_B --root-member-of in:" + aggregate +
		" --root-member-of !" + aggregate + " --can-split VCPU --can-split VCPU --order spread:VGPU --limit-per-tree 2 --limit 5"
	if result := runCommand(t, environ, strings.Fields(line)...); result.code != frame.ExitOK {
		t.Fatalf("exit code %d: %s", result.code, result.stderr)
	}
	want := []string{"placement 1.39, berth 1.2", "resources=VCPU:1&resources_A=VGPU:1&resources_B=VGPU:1&root_member_of=in:" + aggregate +
		"&root_member_of=!" + aggregate + "&isolate=_A,_B&same_subtree=_A,!_B&can_split=VCPU,VCPU&order=spread:VGPU&limit=5&limit_per_tree=2&explain=empty"}
	if !slices.Equal(got, want) {
		t.Errorf("request = %q\nwant      %q", got, want)
	}
}

func TestCLI_CandidateFlagsUnsupported_ErrorNamesFlag(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + proxyTo(t, startService(t), func(request *http.Request) {
		request.Header.Set("OpenStack-API-Version", "placement 1.39")
	})}
	for flags, want := range map[string]string{
		"--root-member-of a99e0000-0000-4000-8000-000000000001":  "--root-member-of: ",
		gpuGroups + " --group-policy none --isolate _A,_B":       "--isolate: ",
		gpuGroups + " --group-policy none --same-subtree _A,!_B": "--same-subtree with '!': ",
		"--can-split VCPU":                 "--can-split: ",
		"--order id":                       "--order: ",
		"--limit-per-tree 1":               "--limit-per-tree: ",
		"--group _X:required=HW_NUMA_ROOT": "--group without resources and outside of --same-subtree: ",
		gpuGroups:                          "two or more --group without --group-policy: ",
	} {
		for _, command := range []string{"candidate list", "allocation claim 5f0d2a1e-0001-4000-8000-000000000001 --project p --user u --type T"} {
			result := runCommand(t, environ, strings.Fields(command+" --resources VCPU:1 "+flags)...)
			if result.code != frame.ExitFailed || !strings.Contains(result.stderr, want+"the service does not support this, because it does not have berth 1.1: ") {
				t.Errorf("%s %s: exit code %d: %s", command, flags, result.code, result.stderr)
			}
		}
	}
	if result := runCommand(t, environ, strings.Fields("candidate list --resources VCPU:1 "+gpuGroups+" --group-policy none")...); result.code != frame.ExitOK {
		t.Errorf("exit code %d: %s", result.code, result.stderr)
	}
	if result := runCommand(t, environ, "candidate", "list", "--resources", "VCPU:1", "--limit-per-tree", "-1"); result.code != frame.ExitUsage {
		t.Errorf("exit code %d: %s", result.code, result.stderr)
	}
}
