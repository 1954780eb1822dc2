package command

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
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
	want := []string{"placement 1.39, berth 1.6", "resources=VCPU:1&resources_A=VGPU:1&resources_B=VGPU:1&root_member_of=in:" + aggregate +
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

// TestCLI_CandidatesOfOneTree_NoteNamesFlag checks the note about a page that one tree has filled, on standard error and with
// a table only.
func TestCLI_CandidatesOfOneTree_NoteNamesFlag(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t)}
	lines := []string{"class create CUSTOM_GPU"}
	for _, host := range []string{"gpu-1", "gpu-2"} {
		lines = append(lines, "provider create "+host, "inventory set "+host+" --resource VCPU=8")
		for _, device := range []string{"a", "b", "c"} {
			name := host + "-" + device
			lines = append(lines, "provider create "+name+" --parent "+host, "inventory set "+name+" --resource CUSTOM_GPU=1")
		}
	}
	for _, line := range lines {
		if got := runCommand(t, environ, strings.Fields(line)...); got.code != frame.ExitOK {
			t.Fatalf("%s: %s", line, got.stderr)
		}
	}
	const (
		pair = "candidate list --resources VCPU=1 --group _A:resources=CUSTOM_GPU:1 --group _B:resources=CUSTOM_GPU:1 --isolate _A,_B "
		more = "berth: stopped at --limit %; there may be more candidates, and --limit 0 lists all\n"
		note = "berth: all % candidates are of the tree gpu-1; --limit-per-tree 1 lists one candidate of each tree\n"
	)
	for line, want := range map[string]string{
		pair + "--order id --limit 6":                    strings.ReplaceAll(more+note, "%", "6"),
		pair + "--order id --limit 2":                    strings.ReplaceAll(more+note, "%", "2"),
		pair + "--order id --limit 6 --output json":      strings.ReplaceAll(more, "%", "6"),
		pair + "--order id --limit 1":                    strings.ReplaceAll(more, "%", "1"),
		pair + "--order id --limit 7":                    strings.ReplaceAll(more, "%", "7"), // of two trees
		pair + "--order id --limit 13":                   "",
		pair + "--order id --limit 2 --limit-per-tree 1": strings.ReplaceAll(more, "%", "2"),
		pair + "--limit 6 --in-tree gpu-2":               strings.ReplaceAll(more, "%", "6"),
	} {
		got := runCommand(t, environ, strings.Fields(line)...)
		if got.code != frame.ExitOK || got.stderr != want {
			t.Errorf("%s: exit code %d, %q, want %q", line, got.code, got.stderr, want)
		}
	}
	older := []string{"BERTH_URL=" + proxyTo(t, strings.TrimPrefix(environ[0], "BERTH_URL="), func(request *http.Request) {
		if version := request.Header.Get("OpenStack-API-Version"); version != "" {
			request.Header.Set("OpenStack-API-Version", strings.Split(version, ",")[0])
		}
	})}
	plain := "candidate list --resources VCPU=1 --group _A:resources=CUSTOM_GPU:1 --group _B:resources=CUSTOM_GPU:1 --group-policy isolate --limit 6"
	if got := runCommand(t, older, strings.Fields(plain)...); got.code != frame.ExitOK || got.stderr != strings.ReplaceAll(more, "%", "6") {
		t.Errorf("without extensions: %+v", got)
	}
}
