package server_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
)

// withHistory selects the record of changes.
const withHistory = "placement 1.39, berth 1.7"

// TestHistory_ListOfRequest_HasRefusals has requests of one chain: two that found nothing, and a write.
func TestHistory_ListOfRequest_HasRefusals(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	s := newExplaining(t, db, 24*time.Hour)
	dbtest.TurnRecordOn(t, db)
	if _, err := s.Store.HistoryState(t.Context()); err != nil {
		t.Fatal(err)
	}
	global := "req-" + uuid.NewString()
	const header = "X-Openstack-Request-Id"
	first := s.get(emptyQuery, "placement 1.10", header, global).Header().Get(header)
	written := s.sendText("PUT", "/traits/CUSTOM_A", "", withHistory, header, global).Header().Get(header)
	second := s.get(emptyQuery, "placement 1.10", header, global).Header().Get(header)
	s.log.Close(t.Context())

	type list struct {
		Events []struct {
			Kind, Reason, Summary string
			RequestID             string `json:"request_id"`
			Index                 int
			By                    struct {
				RequestID       string `json:"request_id"`
				GlobalRequestID string `json:"global_request_id"`
			}
		}
		Links []struct{ Href string } `json:"events_links"`
	}
	var ids []string
	for target := "/history?limit=1&sort=index&request=" + global; target != ""; {
		page := decode[list](t, s.get(target, withHistory))
		for _, event := range page.Events {
			ids = append(ids, event.By.RequestID)
			if event.By.GlobalRequestID != global {
				t.Errorf("event of %+v, want the global request id %s", event, global)
			}
			isWrite := event.By.RequestID == written
			if isWrite != (event.Kind == "write" && event.Index == 2) ||
				!isWrite && (event.Kind != "refused" || event.Reason != "amount" || event.Summary == "" || event.RequestID != event.By.RequestID) {
				t.Errorf("event = %+v", event)
			}
		}
		target = ""
		if len(page.Links) > 0 {
			target = page.Links[0].Href
		}
	}
	if len(ids) != 3 || ids[0] != first || ids[1] != written || ids[2] != second {
		t.Errorf("requests = %q, want %q", ids, []string{first, written, second})
	}
	if page := decode[list](t, s.get("/history?topic=name&request="+global, withHistory)); len(page.Events) != 1 {
		t.Errorf("events with a topic = %+v, want the write", page.Events)
	}
}
