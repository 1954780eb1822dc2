package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// berth17 is the first version of the extensions with the record of changes.
const berth17 = "1.7"

// maxHistoryPage is the maximum number of events of a page of the service.
const maxHistoryPage = 1000

// The kinds of a HistoryEvent.
const (
	HistoryWrite   = "write"
	HistoryRefused = "refused"
)

// HistoryFilter selects events of the record of changes. The zero value selects all. All filters must hold for one and the same change
// of an event; then the event is listed whole.
type HistoryFilter struct {
	// Providers, Consumers and Nodes have at most 500 values each. Providers also selects changes of the consumers on them, Nodes
	// those of their allocations and of the providers with their UUIDs.
	Providers, Consumers, Nodes []uuid.UUID
	// InTree is the UUID of any provider of a tree.
	InTree string
	// Name is the name that a provider, node or node allocation has or had.
	Name string
	// Request is a request ID or a global request ID. With it, and without filters on objects, callers and topics, the list also has
	// what found nothing: events of kind HistoryRefused.
	Request string
	// UserID is the user that asked, ProjectID the project of a consumer before or after the write.
	UserID, ProjectID string
	// Topics are such as "allocation", "inventory" and "provider".
	Topics []string
	// Since and SinceIndex are inclusive, Until and UntilIndex exclusive; zero: no limit. A time takes precedence over an index.
	Since, Until           time.Time
	SinceIndex, UntilIndex int64
	// OldestFirst reverses the order, which begins with the newest event.
	OldestFirst bool
	// PageSize is the number of events of a page, at most 1000, which is the value of 0. It does not limit the list.
	PageSize int
}

// HistoryEvent is all that one committed write changed or, of kind HistoryRefused, a request that found nothing.
type HistoryEvent struct {
	Kind string `json:"kind"`
	// Index is the place of the event in the order of all events; 0 for a request that found nothing.
	Index int64             `json:"index"`
	At    time.Time         `json:"at"`
	By    api.HistoryCaller `json:"by"`
	// Changes has only objects and members that differ. Values are absolute.
	Changes api.HistoryChanges `json:"changes"`
	// RequestID, Reason and Summary are those of a request that found nothing; empty for writes.
	RequestID string `json:"request_id"`
	Reason    string `json:"reason"`
	Summary   string `json:"summary"`
	// Response is the event as the service sent it, with null members and with members that this package does not know.
	Response json.RawMessage `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *HistoryEvent) UnmarshalJSON(text []byte) error {
	type members HistoryEvent
	err := json.Unmarshal(text, (*members)(e))
	e.Response = slices.Clone(text)
	return err
}

// MarshalJSON implements json.Marshaler. It returns the event as the service sent it.
func (e HistoryEvent) MarshalJSON() ([]byte, error) {
	if e.Response != nil {
		return e.Response, nil
	}
	type members HistoryEvent
	return json.Marshal(members(e))
}

// HistoryPage is a page of events, and the state of the record.
type HistoryPage struct {
	Events []HistoryEvent `json:"events"`
	// Log identifies the series of indexes: indexes of another log mean nothing in this one.
	Log uuid.UUID `json:"log"`
	// Oldest and Newest are the indexes of the first event that is kept and of the last one; 0: there is none.
	Oldest int64 `json:"oldest"`
	Newest int64 `json:"newest"`
	// CompleteSince is the time from which the list is complete, if the filter begins before it; else nil.
	CompleteSince *time.Time `json:"complete_since,omitempty"`
	// Marker is that of the next page; empty: there is none. A page with a next one can be short or empty.
	Marker string `json:"-"`
}

// History yields the events that pass a filter, the newest first. It follows the links of pages, which can be short or empty. An error
// ends the sequence: an ErrHistoryOff if nothing was ever recorded. It needs berth 1.7: the error of a service without it is an
// ErrExtensions.
func (c *Client) History(ctx context.Context, filter HistoryFilter) iter.Seq2[HistoryEvent, error] {
	return pages(func(marker string) ([]HistoryEvent, []api.Link, error) {
		return c.historyPage(ctx, &HistoryPage{}, filter, marker)
	})
}

// HistoryPage returns the page of a marker, "" for the first one. It needs berth 1.7, as History.
func (c *Client) HistoryPage(ctx context.Context, filter HistoryFilter, marker string) (page HistoryPage, err error) {
	_, links, err := c.historyPage(ctx, &page, filter, marker)
	page.Marker = nextMarker(links)
	return page, err
}

// historyPage reads a page, and returns its events and links.
func (c *Client) historyPage(ctx context.Context, into *HistoryPage, filter HistoryFilter, marker string) ([]HistoryEvent, []api.Link, error) {
	page := struct {
		*HistoryPage
		Links []api.Link `json:"events_links"`
	}{HistoryPage: into}
	err := c.readAs(ctx, &page, "history", filter.params(marker), berth17)
	return into.Events, page.Links, err
}

// params returns the query parameters of a page.
func (f *HistoryFilter) params(marker string) []param {
	sort := ""
	if f.OldestFirst {
		sort = "index"
	}
	size := f.PageSize
	if size <= 0 || size > maxHistoryPage {
		size = maxHistoryPage
	}
	return []param{
		{"resource_provider", inList(uuidTexts(f.Providers))}, {"in_tree", f.InTree}, {"consumer", inList(uuidTexts(f.Consumers))},
		{"node", inList(uuidTexts(f.Nodes))}, {"name", f.Name}, {"request", f.Request}, {"user_id", f.UserID}, {"project_id", f.ProjectID},
		{"topic", inList(f.Topics)}, {"since", momentText(f.Since, f.SinceIndex)}, {"until", momentText(f.Until, f.UntilIndex)},
		{"sort", sort}, {"limit", strconv.Itoa(size)}, {"marker", marker},
	}
}

// momentText returns a time or an index as query strings have it; "" if both are zero.
func momentText(at time.Time, index int64) string {
	if at.IsZero() && index > 0 {
		return strconv.FormatInt(index, 10)
	}
	return timeText(at)
}

const historySettingsPath = "history/settings"

// HistorySettingsShow returns whether changes are recorded, since when the record is complete, and its size. It needs berth 1.7.
func (c *Client) HistorySettingsShow(ctx context.Context) (settings api.HistorySettings, err error) {
	return settings, c.do(ctx, &settings, request{method: http.MethodGet, path: historySettingsPath, needs: berth17})
}

// HistorySettingsUpdate turns the record of changes on or off, and returns the settings afterwards: after "on" the state is "starting"
// for some seconds. The error is an ErrConcurrentUpdate if the settings have another generation. It needs berth 1.7.
func (c *Client) HistorySettingsUpdate(ctx context.Context, wanted api.HistorySettingsUpdate) (settings api.HistorySettings, err error) {
	return settings, c.do(ctx, &settings, request{
		method: http.MethodPut, path: historySettingsPath, body: wanted, needs: berth17, asksFirst: true,
	})
}
