package command

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/explainlog"
)

// startRecording is startService with a server that records empty results, and with rules that a policy file contains.
func startRecording(t *testing.T, rules string) string {
	t.Helper()
	rulesFile := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(rulesFile, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	denying, _, err := policy.Open(policy.Defaults(), policy.Files{Main: rulesFile, Required: true})
	if err != nil {
		t.Fatal(err)
	}
	var log *explainlog.Log
	started := servertest.New(t, servertest.Options{StandardNames: true, Server: func(options *server.Options) {
		log = explainlog.New(explainlog.Options{
			Settings: explainlog.Settings{Keep: time.Hour, Rows: 1000, Timeout: 10 * time.Second}, Store: options.Store,
			Log: slog.New(slog.DiscardHandler), Explain: placement.StoredExplainer(options.Store, placement.CandidateOptions{}, 10*time.Second),
		})
		options.Explanations, options.Policy = log, denying
	}})
	log.Start()
	t.Cleanup(func() { log.Close(context.Background()) })
	return started.Listen(t).URL
}

// counted is a proxy to a service that counts requests. It answers those that answer responds to.
type counted struct {
	requests []string
	answer   func(http.ResponseWriter, *http.Request) bool
}

// listen returns the address of the proxy.
func (c *counted) listen(t *testing.T, service string) string {
	t.Helper()
	target, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, _ := url.QueryUnescape(r.URL.RawQuery)
		c.requests = append(c.requests, strings.TrimSuffix(r.Method+" "+r.URL.Path+"?"+query, "?"))
		if c.answer == nil || !c.answer(w, r) {
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// send writes an error of the service.
func send(w http.ResponseWriter, status int, code string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	detail := http.StatusText(status) + ".\n\n Rejected by the test."
	text, _ := json.Marshal(map[string]any{"errors": []any{map[string]any{"status": status, "title": http.StatusText(status), "detail": detail, "code": code}}})
	_, _ = w.Write(text)
	return true
}

// latestIs replaces the newest extensions in the version of a request, as a service does whose newest ones these are.
func latestIs(r *http.Request, newest string) {
	version := r.Header.Get("OpenStack-API-Version")
	r.Header.Set("OpenStack-API-Version", strings.Replace(version, "berth latest", newest, 1))
}

// The services that do not explain: Berth before 1.2, OpenStack Placement, and one whose policy does not permit it.
var withoutExplanations = map[string]func(http.ResponseWriter, *http.Request) bool{
	"berth 1.1": func(w http.ResponseWriter, r *http.Request) bool {
		latestIs(r, "berth 1.1")
		asked := r.Header.Get("OpenStack-API-Version")
		return (strings.Contains(asked, "berth 1.2") || strings.Contains(asked, "berth 1.6")) && send(w, http.StatusNotAcceptable, "berth.version.unsupported")
	},
	"OpenStack Placement": func(_ http.ResponseWriter, r *http.Request) bool {
		r.Header.Set("OpenStack-API-Version", "placement 1.39")
		return false
	},
	"denied": func(w http.ResponseWriter, r *http.Request) bool {
		return r.URL.Query().Has("explain") && send(w, http.StatusForbidden, "placement.undefined_code")
	},
}

// summaryOfTwo is the summary of a query for 2 VCPU where compute-1 has one.
const summaryOfTwo = "Nothing fits. No provider can ever give 2 VCPU at once: the most that any could give is 1. " +
	"Nearest: compute-1 lacks the size for 2 VCPU (compute-1 could give 1), and the query would not fit even when it is empty. " +
	"With 1 VCPU instead of 2 there would be 1 candidate.\n"

const claimLine = "allocation claim 5f0d2a1e-0001-4000-8000-000000000001 --project p --user u --type T --resources "

func TestExplain_ServiceWithExplanations_TakesOneRequest(t *testing.T) {
	t.Parallel()
	proxy := &counted{}
	environ := []string{"BERTH_URL=" + proxy.listen(t, startService(t))}
	hosts(t, environ, "compute-1")
	proxy.requests = nil
	want := ran{frame.ExitOK, "CANDIDATE  PROVIDER  CLASS  AMOUNT  USED  CAPACITY  GROUPS\n", summaryOfTwo}
	if got := runCommand(t, environ, strings.Fields("candidate list --resources VCPU:2")...); got != want {
		t.Errorf("list = %+v, want %+v", got, want)
	}
	if want := []string{"GET /allocation_candidates?resources=VCPU:2&limit=10&explain=empty"}; !slices.Equal(proxy.requests, want) {
		t.Errorf("requests = %q, want %q", proxy.requests, want)
	}
	if got, want := runCommand(t, environ, strings.Fields(claimLine+"VCPU:2")...), (ran{frame.ExitFailed, "", summaryOfTwo}); got != want {
		t.Errorf("claim = %+v, want %+v", got, want)
	}
	if got := runCommand(t, environ, strings.Fields("candidate list --resources VCPU:1")...); got.code != frame.ExitOK || got.stderr != "" || !strings.Contains(got.stdout, "compute-1") {
		t.Errorf("list = %+v, want a candidate", got)
	}
}

func TestExplain_ServiceWithoutExplanations_PrintsNothingFits(t *testing.T) {
	t.Parallel()
	address := startService(t)
	hosts(t, []string{"BERTH_URL=" + address}, "compute-1")
	for name, answer := range withoutExplanations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := &counted{answer: answer}
			environ := []string{"BERTH_URL=" + proxy.listen(t, address)}
			want := ran{frame.ExitOK, "CANDIDATE  PROVIDER  CLASS  AMOUNT  USED  CAPACITY  GROUPS\n", "Nothing fits.\n"}
			if got := runCommand(t, environ, strings.Fields("candidate list --resources VCPU:2")...); got != want {
				t.Errorf("list = %+v, want %+v", got, want)
			}
			explained, plain := "GET /allocation_candidates?resources=VCPU:2&limit=10&explain=empty", "GET /allocation_candidates?resources=VCPU:2&limit=10"
			requests := []string{explained, explained, plain} // berth 1.6, then 1.2
			if name == "denied" {
				requests = []string{explained, plain}
			}
			if !slices.Equal(proxy.requests, requests) {
				t.Errorf("requests = %q, want %q", proxy.requests, requests)
			}
			rejected := ran{frame.ExitFailed, "", "Nothing fits.\n"}
			if name == "denied" { // a claim explains itself as far as policy permits
				rejected.stderr = summaryOfTwo
			}
			if got := runCommand(t, environ, strings.Fields(claimLine+"VCPU:2")...); got != rejected {
				t.Errorf("claim = %+v, want %+v", got, rejected)
			}
			cause := "berth: the service has no explanations, because it does not have berth 1.2: "
			if name == "denied" {
				cause = "berth: policy does not permit explanations to this user; the rule is berth:explanations:make: "
			}
			if got := runCommand(t, environ, "explain", "resources=VCPU:2"); got.code != frame.ExitFailed || !strings.HasPrefix(got.stderr, cause) || got.stdout != "" {
				t.Errorf("explain = %+v, want %q", got, cause)
			}
		})
	}
}

func TestExplain_ClaimRejected_PrintsSummaryOfRefusal(t *testing.T) {
	t.Parallel()
	address := startService(t)
	hosts(t, []string{"BERTH_URL=" + address}, "compute-1")
	const refused = "berth: no candidate claimed: concurrent claims used the free capacity of all 1 candidates; retry\n"
	for name, test := range map[string]struct{ member, want string }{
		"explained":     {`,"explanation":{"kind":"claim","reason":"capacity","summary":"compute-1 has no room."}`, "Nothing fits. compute-1 has no room.\n" + refused},
		"not explained": {"", "Nothing fits.\n" + refused},
	} {
		proxy := &counted{answer: func(w http.ResponseWriter, r *http.Request) bool {
			latestIs(r, "berth 1.2") // without claims in one request
			if r.Method != http.MethodPut {
				return false
			}
			if version := r.Header.Get("OpenStack-API-Version"); version != "placement 1.39, berth 1.2" {
				t.Errorf("%s: version = %q", name, version)
			}
			w.Header().Add("OpenStack-API-Version", "placement 1.39")
			w.Header().Add("OpenStack-API-Version", "berth 1.2")
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"errors":[{"status":409,"title":"Conflict","code":"placement.undefined_code","detail":"C.\n\n Unable to allocate inventory: full"` + test.member + `}]}`))
			return true
		}}
		environ := []string{"BERTH_URL=" + proxy.listen(t, address)}
		if got, want := runCommand(t, environ, strings.Fields(claimLine+"VCPU:1")...), (ran{frame.ExitFailed, "", test.want}); got != want {
			t.Errorf("%s: claim = %+v, want %+v", name, got, want)
		}
	}
}

// newestRequest waits until the service lists a request, and returns its id.
func newestRequest(t *testing.T, environ []string) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		got := runCommand(t, environ, "explain", "--list", "--output", "json")
		var read struct {
			Explanations []struct {
				RequestIDs []string `json:"request_ids"`
			}
		}
		if err := json.Unmarshal([]byte(got.stdout), &read); err != nil {
			t.Fatalf("%+v: %v", got, err)
		}
		if len(read.Explanations) > 0 {
			return read.Explanations[0].RequestIDs[0]
		}
	}
	t.Fatal("no request is recorded")
	return ""
}

func TestExplain_RequestID_PrintsStoredExplanation(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startRecording(t, "{}")}
	hosts(t, environ, "compute-1")
	set := runCommand(t, environ, strings.Fields("allocation set 5f0d2a1e-0001-4000-8000-000000000001 --on compute-1=VCPU:1 --project p --user u --type T")...)
	if set.code != frame.ExitOK {
		t.Fatal(set.stderr)
	}
	if got := runCommand(t, environ, "candidate", "list", "--resources", "VCPU:1"); got.code != frame.ExitOK {
		t.Fatal(got.stderr)
	}
	id := newestRequest(t, environ)
	got := runCommand(t, environ, "explain", id)
	for _, want := range []string{
		" as placement 1.39, berth 1.6, explained ", ":\n  resources=VCPU:1&limit=10\n\nNothing fits: ",
		"\n\nWOULD FIT WITHOUT\n  It would fit on compute-1 without 1 consumer:\n    5f0d2a1e-0001-4000-8000-000000000001  1 VCPU of compute-1\n",
	} {
		if got.code != frame.ExitOK || !strings.HasPrefix(got.stdout, "Asked ") || !strings.Contains(got.stdout, want) {
			t.Errorf("exit code %d, text lacks %q:\n%s%s", got.code, want, got.stdout, got.stderr)
		}
	}
	var read struct{ Explanations []map[string]any }
	if got := runCommand(t, environ, "explain", id, "--output", "json"); json.Unmarshal([]byte(got.stdout), &read) != nil || len(read.Explanations) != 1 ||
		read.Explanations[0]["request_id"] != id || strings.Count(got.stdout, "5f0d2a1e") != 1 {
		t.Errorf("JSON = %s", got.stdout)
	}
	if got := runCommand(t, environ, "explain", "--list", "--kind=candidates", "--since=1h", "--sort=-requests", "--limit=1"); strings.Count(got.stdout, "\n") != 2 || !strings.Contains(got.stdout, id) {
		t.Errorf("list = %+v", got)
	}
	if got := completed(t, environ, "explain", "req-"); !slices.Equal(got, []string{id}) {
		t.Errorf("completions = %q, want %q", got, id)
	}
	unknown := "req-" + uuid.NewString()
	want := "berth: No explanation is kept for " + unknown + ". Empty answers and refused claims of the last 1h0m0s can be explained, if they were recorded.\n"
	if got := runCommand(t, environ, "explain", unknown); got != (ran{frame.ExitFailed, "", want}) {
		t.Errorf("unknown request = %+v, want %q", got, want)
	}
}

func TestExplain_PolicyDenies_ErrorNamesRule(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startRecording(t, "\"berth:explanations:show\": \"!\"\n\"berth:explanations:list\": \"!\"\n\"placement:resource_providers:allocations:list\": \"!\"\n")}
	hosts(t, environ, "compute-1")
	for rule, arguments := range map[string][]string{
		"berth:explanations:show": {"explain", "req-" + uuid.NewString()}, "berth:explanations:list": {"explain", "--list"},
	} {
		got := runCommand(t, environ, arguments...)
		if want := "berth: policy does not permit explanations to this user; the rule is " + rule + ": "; got.code != frame.ExitFailed || !strings.HasPrefix(got.stderr, want) {
			t.Errorf("%q = %+v, want %q", arguments, got, want)
		}
	}
	set := runCommand(t, environ, strings.Fields("allocation set 5f0d2a1e-0001-4000-8000-000000000001 --on compute-1=VCPU:1 --project p --user u --type T")...)
	if set.code != frame.ExitOK {
		t.Fatal(set.stderr)
	}
	got := runCommand(t, environ, "explain", "resources=VCPU:1")
	if want := "\n\nHELD BY\n  Policy does not permit you to see the allocations of providers.\n"; got.code != frame.ExitOK || !strings.Contains(got.stdout, want) {
		t.Errorf("exit code %d, text lacks %q:\n%s%s", got.code, want, got.stdout, got.stderr)
	}
}

func TestExplain_ProviderDeleted_SkipsItsConsumers(t *testing.T) {
	t.Parallel()
	proxy := &counted{answer: func(w http.ResponseWriter, r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/allocations") && r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/resource_providers/") && send(w, http.StatusNotFound, "placement.undefined_code")
	}}
	address := startService(t)
	hosts(t, []string{"BERTH_URL=" + address}, "compute-1")
	environ := []string{"BERTH_URL=" + proxy.listen(t, address)}
	set := runCommand(t, environ, strings.Fields("allocation set 5f0d2a1e-0001-4000-8000-000000000001 --on compute-1=VCPU:1 --project p --user u --type T")...)
	got := runCommand(t, environ, "explain", "resources=VCPU:1")
	if set.code+got.code != frame.ExitOK || strings.Contains(got.stdout, "HELD BY") || !strings.Contains(got.stdout, "NEAREST") {
		t.Errorf("%+v, explain = %+v", set, got)
	}
}

func TestExplain_GlobalRequestID_PrintsAllRequests(t *testing.T) {
	t.Parallel()
	address := startRecording(t, "{}")
	hosts(t, []string{"BERTH_URL=" + address}, "compute-1")
	global := "req-" + uuid.NewString()
	proxy := &counted{}
	environ := []string{"BERTH_URL=" + proxy.listen(t, address)}
	for _, amount := range []string{"VCPU:2", "VCPU:3"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/allocation_candidates?resources="+amount, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"X-Auth-Token": {"admin"}, "Openstack-Api-Version": {"placement 1.36"}, "X-Openstack-Request-Id": {global}}
		response, err := http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response, err)
		}
		response.Body.Close()
	}
	var got ran
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline) && strings.Count(got.stdout, "Nothing fits: ") < 2; time.Sleep(50 * time.Millisecond) {
		got = runCommand(t, environ, "explain", global)
	}
	second := strings.Index(got.stdout, "\n\nRequest req-")
	if !strings.HasPrefix(got.stdout, "Request req-") || second < 0 || !strings.Contains(got.stdout[second:], "as placement 1.36, explained ") ||
		!strings.Contains(got.stdout[:second], "  resources=VCPU:2\n") || !strings.Contains(got.stdout[second:], "  resources=VCPU:3\n") {
		t.Errorf("%+v", got)
	}
}

func TestExplain_UnknownName_PrintsSimilarNames(t *testing.T) {
	t.Parallel()
	proxy := &counted{answer: func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Add("OpenStack-API-Version", "placement 1.39")
		w.Header().Add("OpenStack-API-Version", "berth 1.2")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"errors":[{"status":400,"title":"Bad Request","code":"placement.undefined_code","detail":"Bad.\n\n No such trait(s): CUSTOM_SDD.",
			"request_id":"req-1","explanation":{"kind":"names","conflicts":[{"conflict":"trait_unknown","name":"CUSTOM_SDD","similar":["CUSTOM_SSD","CUSTOM_HDD"]}]}}]}`))
		return true
	}}
	environ := []string{"BERTH_URL=" + proxy.listen(t, "http://127.0.0.1:1")}
	const similar = " is not a trait of this service; did you mean CUSTOM_HDD or CUSTOM_SSD?\n"
	for line, want := range map[string]ran{
		"explain resources=VCPU:1&required=CUSTOM_SDD":            {frame.ExitUsage, "", `berth: trait: "CUSTOM_SDD" (argument)` + similar},
		"candidate list --resources VCPU:1 --required CUSTOM_SDD": {frame.ExitUsage, "", `berth: required: "CUSTOM_SDD" (flag --required)` + similar},
	} {
		if got := runCommand(t, environ, strings.Fields(line)...); got != want {
			t.Errorf("%s = %+v, want %+v", line, got, want)
		}
	}
}
