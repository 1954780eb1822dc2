package console

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

func TestConsole_UnknownCard_IsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) })
	for _, path := range []string{"", "/capacity", "/providers?view=map", "/traits/CUSTOM_A", "/aggregates/" + uuid.NewString()} {
		address := "/console" + path + map[bool]string{false: "?", true: "&"}[strings.Contains(path, "?")] + "card=" + url.QueryEscape(`"><b>`)
		w := s.send(http.MethodGet, address, nil, "HX-Request", "true")
		wantStatus(t, w, http.StatusBadRequest)
		if strings.Contains(w.Body.String(), `"><b>`) {
			t.Errorf("%s: the page has the name as elements", address)
		}
	}
	if log := s.log.String(); strings.Contains(log, "ERROR") {
		t.Errorf("log = %s", log)
	}
}

// Browsers without scripts ask for the page with the name of a card. Cards that share a call must not end it early.
func TestConsole_SlowCardWithoutScripts_IsOnThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/capacity") && r.URL.Query().Get("group_by") == "" {
			time.Sleep(2 * cardWait)
			_, _ = io.WriteString(w, `{"capacity": [{"resource_class": "CUSTOM_SLOW", "capacity": 7, "free": 7}]}`)
			return
		}
		_, _ = io.WriteString(w, `{}`)
	})
	for _, card := range []string{"left", "pieces", "look"} {
		w := s.send(http.MethodGet, "/console?card="+card, nil)
		wantStatus(t, w, http.StatusOK)
		wantText(t, w, "/console/classes/CUSTOM_SLOW")
	}
}

// Allocation ratios permit capacities beyond int64.
func TestConsole_CapacityBeyondIntegers_IsShownPositive(t *testing.T) {
	t.Parallel()
	const ratio, huge = 3.4e38, math.MaxInt32 * 3.4e38
	record := client.InventoryRecord{
		Total: math.MaxInt32, Reserved: new(int32), MinUnit: new(int32(1)), MaxUnit: new(int32(math.MaxInt32)), StepSize: new(int32(1)), AllocationRatio: new(ratio),
	}
	v := &visit{base: "/console"}
	table := v.sumTable([]api.ClassCapacity{{ResourceClass: "CUSTOM_A", Capacity: huge, Free: huge}})
	shown := []string{
		amountOf("CUSTOM_A", Bar{Capacity: huge}).Capacity, amountOf("MEMORY_MB", Bar{Capacity: math.MaxInt64}).Capacity,
		takenOf("CUSTOM_A", Bar{Capacity: huge}, 1, "").Capacity, table.Rows[0][3].Text, table.Rows[0][3].Sub.Text,
	}
	for _, field := range inventoryFields("CUSTOM_A", &client.ShownProvider{Node: client.Node{Inventories: client.Inventories{"CUSTOM_A": record}}}) {
		shown = append(shown, field.Values[0].Text, field.Strong)
	}
	for _, text := range shown {
		if strings.Contains(text, "-") {
			t.Errorf("a capacity is shown as %q", text)
		}
	}
}

func TestConsole_PathOfPage_IsKeptEscaped(t *testing.T) {
	t.Parallel()
	w := newSite(t, nil, nil).send(http.MethodGet, "/console/baremetal/nodes/a%3Fb%25", nil)
	wantStatus(t, w, http.StatusUnauthorized)
	wantText(t, w, `value="/console/baremetal/nodes/a%3Fb%25"`)
}

// uuid.Parse takes any characters for braces, which would be in the name of the file.
func TestConsole_UUIDInOtherForms_IsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, nil)
	for _, form := range []string{"%22" + uuid.NewString() + "%22", "%0d" + uuid.NewString() + "%0a", "urn:uuid:" + uuid.NewString()} {
		wantStatus(t, s.send(http.MethodGet, "/console/providers/"+form+".csv", nil), http.StatusBadRequest)
	}
}

func TestConsole_FractionOfHosts_IsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, nil)
	for _, change := range []string{"like=" + uuid.NewString() + "&count=2.7", "class=VCPU&reserved=0.5"} {
		wantStatus(t, s.send(http.MethodGet, "/console/capacity/what-if?"+change, nil), http.StatusBadRequest)
	}
	wantStatus(t, s.send(http.MethodGet, "/console/capacity/what-if?class=VCPU&allocation_ratio=1.5", nil), http.StatusOK)
}

// A part of the sample data would remain, which the page cannot complete.
func TestConsole_BrowserLeavesDuringSampleData_LoadsAllOfIt(t *testing.T) {
	t.Parallel()
	left, leave := context.WithCancel(t.Context())
	var calls atomic.Int64
	s := newSite(t, noauth2, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1); left.Err() == nil {
			leave()
			select {
			case <-r.Context().Done():
			case <-time.After(cardWait):
			}
		}
		_, _ = io.WriteString(w, `{}`)
	})
	r := httptest.NewRequestWithContext(left, http.MethodPost, "/console/start", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	s.ServeHTTP(httptest.NewRecorder(), r)
	if calls.Load() < 2 {
		t.Error("the calls end with the request of the browser")
	}
}

// Users who go to another page before this one is there must not count as errors of the server.
func TestConsole_BrowserLeavesDuringPage_CountsAsUnavailable(t *testing.T) {
	t.Parallel()
	left, leave := context.WithCancel(t.Context())
	s := newSite(t, noauth2, func(_ http.ResponseWriter, r *http.Request) {
		leave()
		<-r.Context().Done()
	})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(left, http.MethodGet, "/console/probe", nil))
	wantStatus(t, w, http.StatusServiceUnavailable)
}

// The navigation leads to the pages of bare metal in any service.
func TestConsole_ServiceWithoutBareMetal_SaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	for _, path := range []string{"", "/allocations", "/conductors"} {
		w := s.send(http.MethodGet, "/console/baremetal"+path, nil)
		wantStatus(t, w, http.StatusOK)
		wantText(t, w, "This service has no Bare Metal API")
	}
}
