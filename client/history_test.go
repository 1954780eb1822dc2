package client

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
)

// newRecording returns a client of a server whose record of changes is on.
func newRecording(t *testing.T, options ...Option) *Client {
	t.Helper()
	started := servertest.New(t, servertest.Options{})
	dbtest.TurnRecordOn(t, started.DB)
	if _, err := started.Store.HistoryState(t.Context()); err != nil {
		t.Fatal(err)
	}
	return newClientOf(t, started.Listen(t), options...)
}

// indexes returns the indexes of events, which must have no error.
func indexes(t *testing.T, client *Client, filter HistoryFilter) (found []int64) {
	t.Helper()
	for event, err := range client.History(t.Context(), filter) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, event.Index)
	}
	return found
}

func TestClient_History_FollowsLinksWithEveryFilter(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{Extended: true}
	client := newRecording(t, WithTransport(wire))
	must(client.ProviderCreate(t.Context(), "host", id(1), uuid.Nil))(t)
	if _, _, err := client.InventoryReplace(t.Context(), id(1), 0, Inventories{"VCPU": {Total: 9}}); err != nil {
		t.Fatal(err)
	}
	if err := client.AllocationReplace(t.Context(), id(11), &Consumer{
		ProjectID: "p", UserID: "u", Type: "INSTANCE", Allocations: map[uuid.UUID]Resources{id(1): {"VCPU": 1}},
	}, nil); err != nil {
		t.Fatal(err)
	}
	all := []int64{4, 3, 2, 1}
	now := time.Now()
	for name, test := range map[string]struct {
		filter HistoryFilter
		want   []int64
	}{
		"all":     {HistoryFilter{}, all},
		"pages":   {HistoryFilter{PageSize: 1}, all},
		"oldest":  {HistoryFilter{PageSize: 3, OldestFirst: true}, []int64{1, 2, 3, 4}},
		"indexes": {HistoryFilter{SinceIndex: 2, UntilIndex: 4}, []int64{3, 2}},
		"objects": {HistoryFilter{
			Providers: ids(1), Consumers: ids(11, 12), InTree: id(1).String(), Nodes: ids(1), UserID: "admin", ProjectID: "p", Name: "host",
			Topics: []string{"allocation", "trait"}, Since: now.Add(-time.Hour), Until: now.Add(time.Hour),
		}, []int64{4}},
		"topic":   {HistoryFilter{Topics: []string{"inventory"}}, []int64{3}},
		"time":    {HistoryFilter{Since: now.Add(time.Hour)}, nil},
		"request": {HistoryFilter{Request: "req-unknown"}, nil},
	} {
		if got := indexes(t, client, test.filter); !slices.Equal(got, test.want) {
			t.Errorf("%s: events %v, want %v", name, got, test.want)
		}
	}
	wire.Requests()
	for range client.History(t.Context(), HistoryFilter{PageSize: 1}) {
		break
	}
	if got := wire.Requests(); !slices.Equal(got, []string{"GET /history?limit=1"}) {
		t.Errorf("requests = %q, want one page", got)
	}
}

func TestClient_HistoryPage_HasEventsAsSent(t *testing.T) {
	t.Parallel()
	client := newRecording(t)
	must(client.ProviderCreate(t.Context(), "host", id(1), uuid.Nil))(t)
	page := must(client.HistoryPage(t.Context(), HistoryFilter{PageSize: 1}, ""))(t)
	if page.Oldest != 1 || page.Newest != 2 || page.Log == uuid.Nil || page.Marker == "" || len(page.Events) != 1 {
		t.Fatalf("page = %+v", page)
	}
	event := page.Events[0]
	created := event.Changes.ResourceProviders[id(1).String()]
	if event.Kind != HistoryWrite || event.Index != 2 || event.At.IsZero() || *event.By.Operation != "provider-create" || created.Before != nil || *created.After.Name != "host" {
		t.Errorf("event = %+v", event)
	}
	encoded := must(json.Marshal(event))(t)
	if !strings.Contains(string(encoded), `"parent_provider_uuid":null`) || !strings.Contains(string(encoded), `"inventories":{}`) {
		t.Errorf("JSON = %s, want the members without values", encoded)
	}
	if written := must(json.Marshal(HistoryEvent{Kind: HistoryWrite, Index: 7}))(t); !strings.Contains(string(written), `"index":7`) {
		t.Errorf("JSON of an event of a program = %s", written)
	}
	next := must(client.HistoryPage(t.Context(), HistoryFilter{PageSize: 1}, page.Marker))(t)
	if len(next.Events) != 1 || next.Events[0].Index != 1 || next.Events[0].Changes.History == nil || next.Marker != "" {
		t.Errorf("next page = %+v", next)
	}
	if first := must(client.HistoryPage(t.Context(), HistoryFilter{Since: time.Now().Add(-time.Hour)}, ""))(t); first.CompleteSince == nil {
		t.Errorf("page = %+v, want the time since which it is complete", first)
	}
}

func TestClient_HistorySettings_CompareGeneration(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	for _, err := range client.History(t.Context(), HistoryFilter{}) {
		if !errors.Is(err, ErrHistoryOff) {
			t.Errorf("error = %v, want ErrHistoryOff", err)
		}
	}
	settings := must(client.HistorySettingsShow(t.Context()))(t)
	if settings.State != api.HistorySettingsStateOff || settings.Newest != 0 {
		t.Errorf("settings = %+v", settings)
	}
	wanted := api.HistorySettingsUpdate{State: api.HistorySettingsUpdateStateOn, KeepDays: new(int64(90)), Generation: settings.Generation}
	dry, _ := WithDryRun(t.Context())
	if would := must(client.HistorySettingsUpdate(dry, wanted))(t); would.KeepDays != 90 || would.State == api.HistorySettingsStateOff {
		t.Errorf("dry run = %+v", would)
	}
	updated := must(client.HistorySettingsUpdate(t.Context(), wanted))(t)
	if updated.State != api.HistorySettingsStateStarting || updated.KeepDays != 90 || updated.Generation != settings.Generation+1 {
		t.Errorf("settings = %+v", updated)
	}
	_, err := client.HistorySettingsUpdate(t.Context(), wanted)
	wantErrors(t, err, ErrConcurrentUpdate)
}

func TestClient_HistoryOfOlderService_ReturnsErrExtensions(t *testing.T) {
	t.Parallel()
	for name, wire := range map[string]*faultyTransport{
		"placement": {After: func(_ *http.Request, answer *http.Response) (*http.Response, error) {
			answer.Header.Set(versionHeader, "placement 1.39")
			return answer, nil
		}},
		"berth 1.6": {Extended: true, Newest: "1.6"},
	} {
		client := newClient(t, WithTransport(wire))
		if _, err := client.HistorySettingsUpdate(t.Context(), api.HistorySettingsUpdate{State: "on"}); !errors.Is(err, ErrExtensions) {
			t.Errorf("%s: error of an update = %v, want ErrExtensions", name, err)
		}
		if got := wire.Requests(); slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "PUT") }) {
			t.Errorf("%s: requests = %q, want no write", name, got)
		}
		if name == "berth 1.6" {
			continue // the transport changes only what the server announces
		}
		if _, err := client.HistoryPage(t.Context(), HistoryFilter{}, ""); !errors.Is(err, ErrExtensions) {
			t.Errorf("%s: error of a page = %v, want ErrExtensions", name, err)
		}
	}
}

func TestClient_ShowAt_ReturnsHowItWas(t *testing.T) {
	t.Parallel()
	client := newRecording(t)
	must(client.ProviderCreate(t.Context(), "host", id(1), uuid.Nil))(t)
	must(client.ProviderUpdate(t.Context(), id(1), "renamed", uuid.Nil))(t)
	tree := must(client.TreeShowAt(t.Context(), id(1), HistoryTime{Index: 2}, TreeUsages))(t)
	if len(tree.Providers) != 1 || tree.Providers[0].Name != "host" || tree.Providers[0].Generation == nil || tree.At == nil || tree.At.Index != 2 {
		t.Errorf("tree = %+v", tree)
	}
	if now := must(client.TreeShow(t.Context(), id(1)))(t); now.Providers[0].Name != "renamed" || now.At != nil {
		t.Errorf("tree of now = %+v", now)
	}
	_, err := client.TreeShowAt(t.Context(), id(2), HistoryTime{Index: 2})
	wantErrors(t, err, ErrNotFound)
	_, err = client.ConsumerShowAt(t.Context(), id(11), HistoryTime{Index: 2})
	wantErrors(t, err, ErrNotFound)
	for _, gone := range []HistoryTime{{}, {Time: time.Now().Add(-24 * time.Hour)}} {
		_, err = client.TreeShowAt(t.Context(), id(1), gone)
		wantErrors(t, err, ErrHistoryGone)
		_, err = client.ConsumerShowAt(t.Context(), id(11), gone)
		wantErrors(t, err, ErrHistoryGone)
	}
	_, err = newClient(t).ConsumerShowAt(t.Context(), id(11), HistoryTime{Index: 1})
	wantErrors(t, err, ErrHistoryOff)
	then := ConsumerThen{Response: []byte(`{"created_at":null}`)}
	if written := must(json.Marshal(then))(t); string(written) != `{"created_at":null}` {
		t.Errorf("JSON = %s, want it as the service sent it", written)
	}
	older := newClient(t, WithTransport(&faultyTransport{Extended: true, Newest: "1.6"}))
	_, err = older.TreeShowAt(t.Context(), id(1), HistoryTime{Index: 1})
	wantErrors(t, err, ErrExtensions)
}
