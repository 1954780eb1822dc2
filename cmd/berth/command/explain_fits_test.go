package command

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
)

// ends is a consumer of compute-1 until a time.
const ends = "5f0d2a1e-0001-4000-8000-000000000001"

// TestExplain_ConsumerEnds_SaysWhenItFits asks for what a consumer holds until a time, in each of the commands that say why nothing fits.
func TestExplain_ConsumerEnds_SaysWhenItFits(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startRecording(t, "{}")}
	hosts(t, environ, "compute-1")
	set := runCommand(t, environ, strings.Fields("allocation set "+ends+" --on compute-1=VCPU:1 --project p --user u --type T --until 2035-01-01T14:20:00Z")...)
	if set.code != frame.ExitOK {
		t.Fatal(set.stderr)
	}
	const sentence = "At the earliest on 2035-01-01 at 14:20 UTC, when " + ends + " (1 VCPU on compute-1) ends.\n"
	const section = "\n\nWOULD FIT AT\n  At the earliest on 2035-01-01 at 14:20 UTC, when\n  " + ends + " (1 VCPU on compute-1) ends.\n"
	listed := runCommand(t, environ, "candidate", "list", "--resources", "VCPU:1")
	if listed.code != frame.ExitOK || !strings.HasSuffix(listed.stderr, "\n"+sentence) {
		t.Errorf("candidate list = %+v, want %q", listed, sentence)
	}
	claimed := runCommand(t, environ, strings.Fields("claim 5f0d2a1e-0001-4000-8000-000000000002 --resources VCPU:1 --project p --user u --type T")...)
	if claimed.code != frame.ExitFailed || !strings.HasSuffix(claimed.stderr, "\n"+sentence) {
		t.Errorf("claim = %+v, want %q", claimed, sentence)
	}
	for _, argument := range []string{"resources=VCPU:1", newestRequest(t, environ)} {
		if got := runCommand(t, environ, "explain", argument); got.code != frame.ExitOK || !strings.Contains(got.stdout, section) {
			t.Errorf("explain %s = %+v, want %q", argument, got, section)
		}
	}
}

// TestExplain_ManyConsumersEnd_HaveALineEach asks for what more consumers hold than the sentence names.
func TestExplain_ManyConsumersEnd_HaveALineEach(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t)}
	hosts(t, environ, "compute-1")
	if got := runCommand(t, environ, "inventory", "set", "compute-1", "--resource", "VCPU=4"); got.code != frame.ExitOK {
		t.Fatal(got.stderr)
	}
	for i := range 4 {
		line := fmt.Sprintf("allocation set 5f0d2a1e-0001-4000-8000-00000000000%d --on compute-1=VCPU:1 --project p --user u --type T --until 2035-01-01T14:2%d:00Z", i, i)
		if got := runCommand(t, environ, strings.Fields(line)...); got.code != frame.ExitOK {
			t.Fatal(got.stderr)
		}
	}
	const want = "\n\nWOULD FIT AT\n  At the earliest on 2035-01-01 at 14:23 UTC, when\n" +
		"  5f0d2a1e-0001-4000-8000-000000000003 (1 VCPU on compute-1) and 3 other\n  consumers end.\n" +
		"    5f0d2a1e-0001-4000-8000-000000000003  1 VCPU of compute-1 until 2035-01-01\n" +
		"                                          14:23 UTC\n"
	if got := runCommand(t, environ, "explain", "resources=VCPU:4"); got.code != frame.ExitOK || !strings.Contains(got.stdout, want) || strings.Count(got.stdout, " until ") != 4 {
		t.Errorf("explain = %+v, want %q", got, want)
	}
}

// explanationsOf returns the body of a recorded explanation, as a version shows it.
func explanationsOf(t *testing.T, address, id, version string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address+"/explanations/"+id, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("OpenStack-API-Version", version)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%d %s, %v", response.StatusCode, body, err)
	}
	return string(body)
}

// TestExplain_RecordedFitsAt_ShownToThoseWhoMaySeeIt reads a recorded explanation below berth 1.6, and where policy does not permit to list
// the allocations of providers.
func TestExplain_RecordedFitsAt_ShownToThoseWhoMaySeeIt(t *testing.T) {
	t.Parallel()
	for rules, isPermitted := range map[string]bool{"{}": true, "\"placement:resource_providers:allocations:list\": \"!\"\n": false} {
		address := startRecording(t, rules)
		environ := []string{"BERTH_URL=" + address}
		hosts(t, environ, "compute-1")
		set := runCommand(t, environ, strings.Fields("allocation set "+ends+" --on compute-1=VCPU:1 --project p --user u --type T --until 2035-01-01T14:20:00Z")...)
		listed := runCommand(t, environ, "candidate", "list", "--resources", "VCPU:1")
		if set.code+listed.code != frame.ExitOK || strings.Contains(listed.stderr, "At the earliest") != isPermitted {
			t.Fatalf("%+v, %+v", set, listed)
		}
		id := newestRequest(t, environ)
		for version, hasMember := range map[string]bool{"placement 1.39, berth 1.5": false, "placement 1.39, berth 1.6": isPermitted} {
			if body := explanationsOf(t, address, id, version); strings.Contains(body, `"fits_at":{"at":"2035-01-01T14:20:00Z"`) != hasMember || strings.Contains(body, "fits_at") != hasMember {
				t.Errorf("rules %s, %s: %s", rules, version, body)
			}
		}
	}
}
