package console

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A reader of a project may read the history of its consumers where a policy file permits that.
func TestConsole_HistoryOfProject_IsWhatItsReaderGets(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Openstack-Api-Version", "placement 1.39, berth 1.7")
		switch {
		case r.URL.Path == "/":
			_, _ = io.WriteString(w, `{"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.39", "extensions": {"min_version": "1.0", "max_version": "1.7"}}]}`)
		case r.URL.Path == "/history" && r.URL.Query().Get("project_id") == "lab":
			_, _ = io.WriteString(w, `{"events": [], "log": "7c1e0b54-9f4e-4c53-8d0e-2a6d1c9b7f10", "oldest": 1, "newest": 9}`)
		default:
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"errors": [{"status": 403, "detail": "Policy does not allow berth:history:list to be performed."}]}`)
		}
	})
	as := s.signIn()
	w := s.send(http.MethodGet, "/console/history?topic=trait", nil, as...)
	wantStatus(t, w, http.StatusSeeOther)
	if got, want := w.Header().Get("Location"), "/console/history?topic=trait&project=lab"; got != want {
		t.Errorf("Location = %q, want %q", got, want)
	}
	w = s.send(http.MethodGet, "/console/history?project=lab", nil, as...)
	wantStatus(t, w, http.StatusOK)
	wantText(t, w, "Nothing that is recorded passes the filters.")
	w = s.send(http.MethodGet, "/console/history?project=other", nil, as...)
	wantStatus(t, w, http.StatusForbidden)
	wantText(t, w, "berth:history:list")
}

func TestConsole_LinksToHistory_FollowPolicy(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"ada": true, "bob": false} {
		s := newSite(t, func(options *Options) {
			options.Permits = func(who Identity, rule string) bool {
				return who.User == name && who.Project == "lab" && strings.Join(who.Roles, ",") == "member,reader" && rule == "berth:history:list"
			}
		}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
		for _, path := range []string{"/console/who", "/console/providers/c0ffee00-5ca1-4b1e-8000-000000000001"} {
			page := s.send(http.MethodGet, path, nil, s.signIn()...).Body.String()
			if got := strings.Contains(page, "/console/history"); got != want {
				t.Errorf("%s, permitted to %s: links to the history: %t, want %t", path, name, got, want)
			}
		}
	}
}
