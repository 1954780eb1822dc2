package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// take returns the elements of a watch up to the event with an index.
func take(t *testing.T, client *Client, filter WatchFilter, after *EventPosition, last int64) (found []Watched) {
	t.Helper()
	for watched, err := range client.Watch(t.Context(), filter, after) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, watched)
		if watched.Event != nil && watched.Event.Index >= last {
			return found
		}
	}
	return found
}

func eventIndexes(all []Watched) (found []int64) {
	for _, watched := range all {
		if watched.Event != nil {
			found = append(found, watched.Event.Index)
		}
	}
	return found
}

func TestClient_Watch_YieldsEventsAsTheyHappen(t *testing.T) {
	t.Parallel()
	client := newRecording(t)
	must(client.ProviderCreate(t.Context(), "before", id(1), uuid.Nil))(t)
	page := must(client.HistoryPage(t.Context(), HistoryFilter{}, ""))(t)
	var seen []Watched
	for watched, err := range client.Watch(t.Context(), WatchFilter{Topics: []string{"provider"}}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, watched)
		if len(seen) == 1 {
			if watched.Event != nil || watched.Position != (EventPosition{page.Log, page.Newest}) {
				t.Fatalf("first element = %+v, want the newest position %d", watched, page.Newest)
			}
			if _, _, err := client.InventoryReplace(t.Context(), id(1), 0, Inventories{"VCPU": {Total: 9}}); err != nil {
				t.Fatal(err)
			}
			must(client.ProviderCreate(t.Context(), "host", id(2), uuid.Nil))(t)
		}
		if watched.Event != nil {
			break
		}
	}
	last := seen[len(seen)-1]
	created := last.Event.Changes.ResourceProviders[id(2).String()]
	if last.Event.Kind != HistoryWrite || *created.After.Name != "host" || *last.Event.By.Operation != "provider-create" || last.Position != (EventPosition{page.Log, last.Event.Index}) {
		t.Errorf("last element = %+v", last)
	}
}

func TestClient_Watch_GoesOnWhereStreamsWereCut(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	cuts := 0
	wire := &faultyTransport{Extended: true, After: func(asked *http.Request, answer *http.Response) (*http.Response, error) {
		if asked.URL.Path == "/events" && cuts < 12 {
			cuts++
			answer.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(io.LimitReader(answer.Body, dice.Int64N(4000)), brokenOff{}), answer.Body}
		}
		return answer, nil
	}}
	client := newRecording(t, WithTransport(wire), WithRetries(Retries{Pause: 1}))
	const writes = 30
	for i := range writes {
		must(client.ProviderCreate(t.Context(), fmt.Sprint("host-", i), uuid.New(), uuid.Nil))(t)
	}
	var want []int64
	for i := range writes + 1 {
		want = append(want, int64(i+1))
	}
	if got := eventIndexes(take(t, client, WatchFilter{}, &EventPosition{}, writes+1)); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if cuts < 2 {
		t.Errorf("%d streams were cut, want several", cuts)
	}
}

// brokenOff is the rest of a connection that breaks.
type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, errCut }

func TestClient_Watch_EndsWithTheReason(t *testing.T) {
	t.Parallel()
	client := newRecording(t)
	must(client.ProviderCreate(t.Context(), "host", id(1), uuid.Nil))(t)
	log := must(client.HistoryPage(t.Context(), HistoryFilter{}, ""))(t).Log
	endOf := func(ctx context.Context, filter WatchFilter, after *EventPosition) (end error) {
		for _, end = range client.Watch(ctx, filter, after) {
		}
		return end
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx    context.Context
		filter WatchFilter
		after  *EventPosition
		want   error
	}{
		"later index": {t.Context(), WatchFilter{}, &EventPosition{log, 1000}, ErrHistoryGone},
		"other log":   {t.Context(), WatchFilter{}, &EventPosition{uuid.New(), 1}, ErrHistoryGone},
		"canceled":    {canceled, WatchFilter{}, nil, context.Canceled},
	} {
		if got := endOf(test.ctx, test.filter, test.after); !errors.Is(got, test.want) {
			t.Errorf("%s: error = %v, want %v", name, got, test.want)
		}
	}
	var refused *Error
	if err := endOf(t.Context(), WatchFilter{Topics: []string{"unknown"}}, nil); !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
		t.Errorf("unknown topic: error = %v, want status 400", err)
	}
	settings := must(client.HistorySettingsShow(t.Context()))(t)
	turnOff := func() error {
		_, err := client.HistorySettingsUpdate(t.Context(), api.HistorySettingsUpdate{State: api.HistorySettingsUpdateStateOff, Generation: settings.Generation})
		return err
	}
	var end error
	for _, end = range client.Watch(t.Context(), WatchFilter{}, &EventPosition{log, 1}) {
		if end == nil && turnOff != nil {
			if err := turnOff(); err != nil {
				t.Fatal(err)
			}
			turnOff = nil
		}
	}
	if !errors.Is(end, ErrHistoryOff) {
		t.Errorf("after the record was turned off: error = %v, want ErrHistoryOff", end)
	}
	if err := endOf(t.Context(), WatchFilter{}, nil); !errors.Is(err, ErrHistoryOff) {
		t.Errorf("while it is off: error = %v, want ErrHistoryOff", err)
	}
}

func TestClient_WatchOfUntrustedService_Ends(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	client := must(New(server.URL))(t)
	for _, err := range client.Watch(t.Context(), WatchFilter{}, nil) {
		var untrusted *tls.CertificateVerificationError
		if !errors.As(err, &untrusted) {
			t.Errorf("error = %v, want that of the certificate", err)
		}
	}
}

func TestClient_WatchOfOlderService_ReturnsErrExtensions(t *testing.T) {
	t.Parallel()
	client := newClient(t, WithTransport(&faultyTransport{After: func(_ *http.Request, answer *http.Response) (*http.Response, error) {
		answer.Header.Set(versionHeader, "placement 1.39")
		return answer, nil
	}}))
	for _, err := range client.Watch(t.Context(), WatchFilter{}, nil) {
		if !errors.Is(err, ErrExtensions) {
			t.Errorf("error = %v, want ErrExtensions", err)
		}
	}
}
