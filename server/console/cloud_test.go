package console_test

import (
	"cmp"
	"context"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/demo"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/explainlog"
)

// site is a whole service with a console, and names of its sample data.
type site struct {
	url string
	api *client.Client
	db  *pgxpool.Pool
	// Provider is the root of a host with GPUs, Neighbor another one, and Consumer has allocations there. Request found
	// nothing. They are unknown UUIDs without sample data.
	Provider, Neighbor, Consumer, Aggregate, Request, Node, NodeAllocation string
}

// siteOptions describe a site.
type siteOptions struct {
	// hosts is the size of the sample data, and of a site whose record of changes is on; 0: neither is there. Its rows have the same order in all sites that are ordered.
	hosts    int
	ordered  bool
	settings console.Settings
	// plain makes the service one without the extensions that the console needs.
	plain bool
	// log receives the log of the service; nil: nothing does.
	log io.Writer
	// watch wraps the API for the calls of the pages; nil: nothing does.
	watch func(api http.Handler) http.Handler
}

// newSite starts a site. It ends with the test.
func newSite(t testing.TB, o siteOptions) *site {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	if o.log != nil {
		log = slog.New(slog.NewTextHandler(o.log, nil))
	}
	var plain atomic.Bool
	made := servertest.New(t, servertest.Options{StandardNames: true, Server: func(options *server.Options) {
		servertest.Baremetal(servertest.Conductor)(options)
		explanations := explainlog.New(explainlog.Options{
			Settings: explainlog.Settings{Keep: time.Hour, Rows: 1000, Timeout: 10 * time.Second}, Store: options.Store, Log: log,
			Explain: placement.StoredExplainer(options.Store, options.Placement.Candidates, 10*time.Second),
		})
		explanations.Start()
		t.Cleanup(func() { explanations.Close(context.Background()) })
		options.Explanations, options.Log, options.AccessLog = explanations, log, o.log != nil
		options.Bodies.Max = 64 << 20
		permits := func(who console.Identity, rule string) bool {
			return policy.New(policy.Defaults()).Check(auth.Caller{UserID: who.User, ProjectID: who.Project, Roles: who.Roles}, rule, policy.Target{}) == nil
		}
		options.Console = func(service http.Handler) (func(http.ResponseWriter, *http.Request, string), func() error) {
			if o.watch != nil {
				service = o.watch(service)
			}
			return console.Mount(console.Options{Settings: o.settings, Log: log, CardWait: time.Minute, Permits: permits})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if version, _, extended := strings.Cut(r.Header.Get("OpenStack-API-Version"), ","); extended && plain.Load() {
					r.Header.Set("OpenStack-API-Version", version)
				}
				service.ServeHTTP(w, r)
			}))
		}
	}})
	if o.hosts > 0 {
		dbtest.TurnRecordOn(t, made.DB)
		if _, err := made.Store.HistoryState(t.Context()); err != nil { // so that the server knows of it
			t.Fatal(err)
		}
	}
	made.StartConductor(t)
	unknown := uuid.Must(uuid.NewV7()).String()
	s := &site{
		url: made.Listen(t).URL, db: made.DB.Pool, Provider: unknown, Neighbor: unknown, Consumer: unknown, Aggregate: unknown,
		Request: "req-" + unknown, Node: unknown, NodeAllocation: unknown,
	}
	var err error
	if s.api, err = client.New(s.url); err != nil {
		t.Fatal(err)
	}
	if o.hosts > 0 {
		s.load(t, o)
	}
	plain.Store(o.plain)
	return s
}

// load loads the sample data and finds its names.
func (s *site) load(t testing.TB, o siteOptions) {
	t.Helper()
	ctx := client.WithExtensions(t.Context(), "1.4")
	options := demo.Options{Hosts: o.hosts, Progress: func(_ string, done, _ int) {
		if done%5000 == 0 { // PostgreSQL does not analyze tables by itself in tests
			if _, err := s.db.Exec(t.Context(), "ANALYZE"); err != nil {
				t.Error(err)
			}
		}
	}}
	if o.ordered {
		options.Parallel = 1
	}
	sum, err := demo.Load(t.Context(), s.api, options)
	if err != nil {
		t.Fatal(err)
	}
	for provider, err := range s.api.Providers(ctx, client.ProviderQuery{Prefix: "gpu-0", Sort: "name", Include: []string{"aggregates"}}) {
		if err != nil {
			t.Fatal(err)
		}
		switch provider.Name {
		case "gpu-01":
			s.Provider, s.Aggregate = provider.UUID.String(), provider.Aggregates[0].String()
		case "gpu-02":
			s.Neighbor = provider.UUID.String()
		}
	}
	tree, err := s.api.TreeShow(ctx, uuid.MustParse(s.Provider), "consumers")
	if err != nil {
		t.Fatal(err)
	}
	for id := range tree.Consumers {
		s.Consumer = max(s.Consumer, id.String())
	}
	s.Request = s.recorded(t, sum.Unplaced).RequestIDs[0]
	machines := baremetal.New(s.api)
	primary, err := machines.NodeAllocationShow(ctx, "db-primary")
	if err != nil || primary.NodeUUID == nil {
		t.Fatalf("node allocation db-primary = %+v, %v", primary, err)
	}
	s.Node = primary.NodeUUID.String()
	failed, err := machines.NodeAllocationList(ctx, baremetal.AllocationFilter{State: "error"})
	if err != nil || len(failed) == 0 {
		t.Fatalf("failed node allocations = %v, %v", failed, err)
	}
	s.NodeAllocation = failed[0].UUID.String()
	if o.ordered {
		lease(t, s.api, uuid.MustParse(s.Consumer), client.LeaseTerms{Seconds: 45 * 60})
	}
}

// lease gives a consumer a lease.
func lease(t testing.TB, api *client.Client, consumer uuid.UUID, terms client.LeaseTerms) {
	t.Helper()
	if _, err := api.AllocationPatch(t.Context(), consumer, client.AllocationChanges{Lease: &terms}); err != nil {
		t.Fatal(err)
	}
}

// recorded waits until the service, which does so after its responses, has recorded a number of queries. It returns the
// first of them.
func (s *site) recorded(t testing.TB, queries int) api.ListedExplanation {
	t.Helper()
	ctx, cancel := context.WithTimeout(client.WithExtensions(t.Context(), "1.4"), time.Minute)
	defer cancel()
	for {
		asked, err := s.api.ExplanationList(ctx, client.ExplanationFilter{Kind: "candidates"})
		if err != nil {
			t.Fatal(err)
		}
		if len(asked) >= max(queries, 1) {
			return slices.MinFunc(asked, func(a, b api.ListedExplanation) int { return cmp.Compare(a.ID, b.ID) })
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// persona returns the cookies of a caller of the menu.
func (s *site) persona(t testing.TB, name string) map[string]string {
	t.Helper()
	jar, _ := cookiejar.New(nil)
	user := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := user.PostForm(s.url+"/console/who", url.Values{"persona": {name}})
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	cookies := map[string]string{}
	for _, cookie := range answer.Cookies() {
		cookies[cookie.Name] = cookie.Value
	}
	if len(cookies) == 0 {
		t.Fatalf("the persona %q has no cookie; status = %d", name, answer.StatusCode)
	}
	return cookies
}

// get returns the status and the body of a page.
func (s *site) get(t testing.TB, path string, cookies map[string]string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, s.url+path, nil)
	r.RequestURI = ""
	for name, value := range cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// syncBuffer is the log of a site. It is safe for concurrent use.
type syncBuffer struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (b *syncBuffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(text)
}

// take returns the log since the last call.
func (b *syncBuffer) take() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.text.Reset()
	return b.text.String()
}

// calls returns the calls of the API of each page, by the request id of the page.
func (b *syncBuffer) calls() map[string][]string {
	found := map[string][]string{}
	for _, call := range regexp.MustCompile(`global_request_id=(req-\S+) .*? path=(/\w\S*)`).FindAllStringSubmatch(b.take(), -1) {
		found[call[1]] = append(found[call[1]], call[2])
	}
	return found
}

// text returns the text of a page: without elements, one space between words. textOf is that of its main part.
func text(page string) string {
	return strings.Join(strings.Fields(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " "))), " ")
}

func textOf(body string) string {
	_, body, _ = strings.Cut(body, "<main")
	return text(body)
}

// mustHave checks that the text of a page has texts, and wantTexts that its main part has them.
func mustHave(t *testing.T, page string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text(page), want) {
			t.Errorf("the page has no %q: %s", want, text(page))
		}
	}
}

func wantTexts(t *testing.T, body string, texts ...string) {
	t.Helper()
	_, main, _ := strings.Cut(body, "<main")
	mustHave(t, main, texts...)
}
