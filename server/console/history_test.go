package console_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// recordedSite returns a site with one consumer more, which has been claimed, changed and deleted, and its UUID.
func recordedSite(t *testing.T) (*site, string) {
	t.Helper()
	s := newSite(t, siteOptions{hosts: 12})
	if err := s.api.TraitEnsure(t.Context(), "CUSTOM_MADE"); err != nil {
		t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	pool := must(s.api.ProviderList(t.Context(), client.ProviderFilter{Name: "pool-1"}))(t)[0].UUID
	claim := &client.Consumer{ProjectID: "chronicle", UserID: "herodotus", Type: "INSTANCE", Allocations: map[uuid.UUID]client.Resources{pool: {"DISK_GB": 20}}}
	if err := s.api.AllocationReplace(t.Context(), id, claim, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.api.AllocationDelete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return s, id.String()
}

// TestConsole_History_HasSentencesWithLinks shows what happened to a consumer that is gone, by each filter, and where its links lead.
func TestConsole_History_HasSentencesWithLinks(t *testing.T) {
	t.Parallel()
	s, consumer := recordedSite(t)
	short := consumer[:8] + "…" + consumer[len(consumer)-4:]
	request := ""
	for _, filter := range []string{"consumer=" + consumer, "project=chronicle", "provider=pool-1&since=1h", "user=admin&topic=allocation&since=2020-01-01", "tree=pool-1"} {
		status, body := s.get(t, "/console/history?"+filter, nil)
		if status != http.StatusOK {
			t.Fatalf("%s: status = %d: %s", filter, status, textOf(body))
		}
		wantTexts(t, body, "consumer "+short+" (INSTANCE, chronicle )", "pool-1 +DISK_GB 20", "is gone", "pool-1 −DISK_GB 20", "allocation-replace", "admin")
		for _, link := range []string{"/console/consumers/" + consumer, "/console/history?consumer=" + consumer, "/console/history?project=chronicle", "/console/history?user=admin"} {
			if !strings.Contains(body, `href="`+link+`"`) {
				t.Errorf("%s: the page has no link to %s", filter, link)
			}
		}
		request = regexp.MustCompile(`/console/history\?request=(req-[0-9a-f-]{36})`).FindStringSubmatch(body)[1]
	}
	for filter, want := range map[string]string{
		"request=" + request: "1 event", "consumer=" + consumer + "&topic=trait": "Nothing that is recorded passes the filters.", "topic=name&user=admin": "trait CUSTOM_MADE created",
		"until=2": "record: turned on", "provider=gpu-01": "What has happened to gpu-01", "tree=" + s.Provider: "What has happened to the tree of gpu-01",
		"provider=gone": "What has happened to gone", "request=" + s.Request: "nothing found:",
	} {
		_, body := s.get(t, "/console/history?"+filter, nil)
		wantTexts(t, body, want)
	}
	held := s.Consumer[:8] + "…" + s.Consumer[len(s.Consumer)-4:]
	if _, body := s.get(t, "/console/history?consumer="+s.Consumer, nil); strings.Count(textOf(body), held) < 2 || !strings.Contains(textOf(body), " more ") {
		t.Errorf("an event of many objects does not begin with that of the filter: %s", textOf(body))
	}
	if _, body := s.get(t, "/console/history?request="+s.Request, nil); !strings.Contains(body, `href="/console/explanations/`+s.Request+`"`) {
		t.Error("what found nothing has no link to its explanation")
	}
	status, body := s.get(t, "/console/consumers/"+consumer, nil)
	if wantTexts(t, body, "What has happened to it"); status != http.StatusNotFound || !strings.Contains(body, `href="/console/history?consumer=`+consumer+`"`) {
		t.Errorf("the page of a consumer that is gone: status = %d: %s", status, textOf(body))
	}
}

// TestConsole_HistoryOfObjects_IsLinked follows the links to the history from pages of objects.
func TestConsole_HistoryOfObjects_IsLinked(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	for page, link := range map[string]string{
		"/providers/" + s.Provider: "/history?tree=" + s.Provider, "/providers/" + s.Provider + "?at=" + s.Provider: "/history?provider=" + s.Provider,
		"/consumers/" + s.Consumer: "/history?consumer=" + s.Consumer, "/baremetal/nodes/" + s.Node: "/history?provider=" + s.Node, "": "/history",
	} {
		_, body := s.get(t, "/console"+page, nil)
		if !strings.Contains(body, `href="/console`+link+`"`) {
			t.Errorf("%s has no link to %s", page, link)
		}
		status, body := s.get(t, "/console"+link, nil)
		if status != http.StatusOK || !strings.Contains(body, `class="blocks events"`) {
			t.Errorf("%s: status = %d: %s", link, status, textOf(body))
		}
	}
}

// TestConsole_HistoryDenied_IsNotOffered opens pages as callers whom the policy denies the history.
func TestConsole_HistoryDenied_IsNotOffered(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	for _, caller := range callers {
		cookies := s.persona(t, caller.persona)
		want := strings.Contains(caller.roles, "admin")
		for _, page := range []string{"/who", "/providers/" + s.Provider, "/consumers/" + s.Consumer} {
			if _, body := s.get(t, "/console"+page, cookies); strings.Contains(body, "/console/history") != want {
				t.Errorf("%s of %s has links to the history: %t, want %t", page, caller.persona, !want, want)
			}
		}
		status, body := s.get(t, "/console/history", cookies)
		if (status == http.StatusOK) != want || (status == http.StatusForbidden) == want {
			t.Errorf("%s: status = %d", caller.persona, status)
		}
		if !want {
			wantTexts(t, body, "Not allowed", "berth:history:list")
		}
	}
}

// TestConsole_HistoryPages_HaveEachEventOnce follows the links to older events.
func TestConsole_HistoryPages_HaveEachEventOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 24})
	row, found, pages := regexp.MustCompile(`data-label="Index">([\d,]+)<`), map[string]bool{}, 0
	for address := "/console/history"; address != ""; pages++ {
		_, body := s.get(t, address, nil)
		if isNewest := strings.Contains(body, "hx-trigger"); isNewest != (pages == 0) {
			t.Errorf("page %d loads itself again: %t", pages, isNewest)
		}
		for _, match := range row.FindAllStringSubmatch(body, -1) {
			if found[match[1]] {
				t.Errorf("event %s is listed twice", match[1])
			}
			found[match[1]] = true
		}
		address = ""
		if next := nextPage.FindStringSubmatch(body); next != nil {
			address = html.UnescapeString(next[1])
		}
	}
	settings := must(s.api.HistorySettingsShow(t.Context()))(t)
	if pages < 2 || int64(len(found)) != settings.Newest {
		t.Errorf("%d events on %d pages, want %d", len(found), pages, settings.Newest)
	}
}

// TestConsole_HistoryCard_IsSentOnlyIfChanged asks for the card of events as the script does.
func TestConsole_HistoryCard_IsSentOnlyIfChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	_, body := s.get(t, "/console/history?topic=name", nil)
	tag := regexp.MustCompile(`hx-ptag="([0-9a-f]+)"`).FindStringSubmatch(body)
	if tag == nil || !strings.Contains(body, `hx-trigger="every 5s"`) || !strings.Contains(body, "data-pause") {
		t.Fatalf("the page does not load itself again: %s", textOf(body))
	}
	poll := func() (int, string) {
		r := httptest.NewRequest(http.MethodGet, s.url+"/console/history?topic=name&card=events", nil)
		r.RequestURI = ""
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-PTag", tag[1])
		answer := must(http.DefaultTransport.RoundTrip(r))(t)
		defer answer.Body.Close()
		text := new(strings.Builder)
		_ = answer.Write(text)
		return answer.StatusCode, text.String()
	}
	if status, _ := poll(); status != http.StatusNotModified {
		t.Errorf("status = %d, want 304", status)
	}
	if err := s.api.TraitEnsure(t.Context(), "CUSTOM_NEWEST"); err != nil {
		t.Fatal(err)
	}
	if status, text := poll(); status != http.StatusOK || !strings.Contains(text, "CUSTOM_NEWEST") || strings.Contains(text, "<html") {
		t.Errorf("status = %d: %s", status, text)
	}
}

// TestConsole_HistoryOff_SaysHowToTurnItOn opens the page before the record was on, and after.
func TestConsole_HistoryOff_SaysHowToTurnItOn(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	_, body := s.get(t, "/console/history", nil)
	wantTexts(t, body, "No history is kept", "berth history enable", "recording is off")
	settings := must(s.api.HistorySettingsShow(t.Context()))(t)
	for _, state := range []string{"on", "off"} {
		settings = must(s.api.HistorySettingsUpdate(t.Context(), api.HistorySettingsUpdate{State: api.HistorySettingsUpdateState(state), KeepDays: new(int64(3)), Generation: settings.Generation}))(t)
	}
	_, body = s.get(t, "/console/history", nil)
	wantTexts(t, body, "Recording is off.", "kept 3 days", "record: turned on")
}

// TestConsole_HistoryFilters_HaveTheirStatus sends values that a filter can and cannot have.
func TestConsole_HistoryFilters_HaveTheirStatus(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	for filter, want := range map[string]int{
		"since=2h": 200, "since=7d": 200, "since=2026-01-02": 200, "since=2026-01-02T03:04": 200, "since=2026-01-02T03:04:05%2B02:00": 200, "since=7": 200, "since=7&until=9": 200,
		"since=" + url.QueryEscape(time.Now().UTC().Format("2006-01-02 15:04")): 200, "since=yesterday": 400, "since=-2h": 400, "since=0d": 400, "until=99999999d": 400,
		"consumer=x": 400, "consumer=" + s.Consumer: 200, "topic=color": 400, "marker=x": 400, "tree=no-such-host": 400, "tree=" + s.Consumer: 200,
		"name=" + strings.Repeat("x", 300): 200, "user=" + strings.Repeat("x", 300): 400,
	} {
		status, body := s.get(t, "/console/history?"+filter, nil)
		if status != want {
			t.Errorf("%.60s: status = %d, want %d: %.300s", filter, status, want, textOf(body))
		}
	}
}
