package auth_test

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server/identity/auth"
)

// request returns a request with the given path as it reaches the server. It does not parse a URL, because
// a URL cannot have an empty path.
func request(path string, headers map[string]string) *http.Request {
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}, Header: http.Header{}}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	return r
}

func TestAuth_Noauth2Headers_YieldCaller(t *testing.T) {
	t.Parallel()
	type h = map[string]string
	cases := []struct {
		name    string
		headers h
		want    auth.Caller
	}{
		{"a bare user is its own project", h{"X-Auth-Token": "u"},
			auth.Caller{UserID: "u", ProjectID: "u"}},
		{"a user and a project", h{"X-Auth-Token": "u:p"},
			auth.Caller{UserID: "u", ProjectID: "p"}},
		{"the token splits at the first colon", h{"X-Auth-Token": "u:p:q"},
			auth.Caller{UserID: "u", ProjectID: "p:q"}},
		{"an empty project is the user", h{"X-Auth-Token": "u:"},
			auth.Caller{UserID: "u", ProjectID: "u"}},
		{"an empty user stays empty", h{"X-Auth-Token": ":p"},
			auth.Caller{ProjectID: "p"}},
		{"an empty token is accepted and has no user", h{"X-Auth-Token": ""},
			auth.Caller{}},
		{"the user admin has the role admin", h{"X-Auth-Token": "admin"},
			auth.Caller{UserID: "admin", ProjectID: "admin", Roles: []string{"admin"}}},
		{"the user admin of a project has the role admin", h{"X-Auth-Token": "admin:p"},
			auth.Caller{UserID: "admin", ProjectID: "p", Roles: []string{"admin"}}},
		{"the user name admin is case-sensitive", h{"X-Auth-Token": "Admin"},
			auth.Caller{UserID: "Admin", ProjectID: "Admin"}},
		{"roles are split and stripped", h{"X-Auth-Token": "u", "X-Roles": " Member , reader"},
			auth.Caller{UserID: "u", ProjectID: "u", Roles: []string{"Member", "reader"}}},
		{"empty role names are dropped", h{"X-Auth-Token": "u", "X-Roles": "a,, ,b,"},
			auth.Caller{UserID: "u", ProjectID: "u", Roles: []string{"a", "b"}}},
		{"given roles replace those of admin", h{"X-Auth-Token": "admin", "X-Roles": "reader"},
			auth.Caller{UserID: "admin", ProjectID: "admin", Roles: []string{"reader"}}},
		{"an empty list of roles removes those of admin", h{"X-Auth-Token": "admin", "X-Roles": ""},
			auth.Caller{UserID: "admin", ProjectID: "admin"}},
		{"X-Project-Id wins over the token", h{"X-Auth-Token": "u:p", "X-Project-Id": "q"},
			auth.Caller{UserID: "u", ProjectID: "q"}},
		{"X-Project-Id wins over the other spellings",
			h{"X-Auth-Token": "u:p", "X-Project-Id": "q", "X-Tenant-Id": "r", "X-Tenant": "s"},
			auth.Caller{UserID: "u", ProjectID: "q"}},
		{"the token wins over X-Tenant-Id and X-Tenant",
			h{"X-Auth-Token": "u:p", "X-Tenant-Id": "r", "X-Tenant": "s"},
			auth.Caller{UserID: "u", ProjectID: "p"}},
		{"the token wins over X-User-Id and X-User", h{"X-Auth-Token": "u", "X-User-Id": "v", "X-User": "w"},
			auth.Caller{UserID: "u", ProjectID: "u"}},
		{"a system scope removes the token's project", h{"X-Auth-Token": "admin:p", "OpenStack-System-Scope": "all"},
			auth.Caller{UserID: "admin", Roles: []string{"admin"}, SystemScope: "all"}},
		{"with a system scope X-Tenant-Id applies",
			h{"X-Auth-Token": "u:p", "OpenStack-System-Scope": "all", "X-Tenant-Id": "r", "X-Tenant": "s"},
			auth.Caller{UserID: "u", ProjectID: "r", SystemScope: "all"}},
		{"with a system scope X-Tenant comes last",
			h{"X-Auth-Token": "u:p", "OpenStack-System-Scope": "all", "X-Tenant": "s"},
			auth.Caller{UserID: "u", ProjectID: "s", SystemScope: "all"}},
		{"with a system scope X-Project-Id comes first",
			h{"X-Auth-Token": "u:p", "OpenStack-System-Scope": "all", "X-Project-Id": "q", "X-Tenant-Id": "r"},
			auth.Caller{UserID: "u", ProjectID: "q", SystemScope: "all"}},
		{"an empty system scope is none", h{"X-Auth-Token": "u:p", "OpenStack-System-Scope": ""},
			auth.Caller{UserID: "u", ProjectID: "p"}},
		{"X-Domain-Id makes the scope a domain", h{"X-Auth-Token": "u:p", "X-Domain-Id": "d"},
			auth.Caller{UserID: "u", ProjectID: "p", DomainID: "d"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := auth.Noauth2(request("/resource_providers", c.headers))
			if !ok || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v; want %+v, true", got, ok, c.want)
			}
		})
	}
}

func TestAuth_Noauth2RepeatedHeaders_Joined(t *testing.T) {
	t.Parallel()
	r := request("/traits", map[string]string{"X-Auth-Token": "u"})
	r.Header.Add("X-Roles", "member")
	r.Header.Add("X-Roles", "reader, service")
	got, ok := auth.Noauth2(r)
	want := auth.Caller{UserID: "u", ProjectID: "u", Roles: []string{"member", "reader", "service"}}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v, true", got, ok, want)
	}
}

func TestAuth_Noauth2WithoutToken_RejectedExceptAtRoot(t *testing.T) {
	t.Parallel()
	identity := map[string]string{"X-User-Id": "admin", "X-Project-Id": "p", "X-Roles": "admin"}
	cases := []struct {
		path string
		open bool
	}{
		{"/", true},
		{"", true},
		{"//", false},
		{"/resource_providers", false},
		{"/resource_providers/", false},
		{"/unknown", false},
		{"*", false},
	}
	for _, c := range cases {
		t.Run("path "+c.path, func(t *testing.T) {
			t.Parallel()
			got, ok := auth.Noauth2(request(c.path, identity))
			if ok != c.open || !reflect.DeepEqual(got, auth.Caller{}) {
				t.Errorf("got %+v, %v; want the zero Caller, %v", got, ok, c.open)
			}
			if auth.IsOpen(c.path) != c.open {
				t.Errorf("IsOpen is %v", auth.IsOpen(c.path))
			}
		})
	}
}

func TestAuth_Noauth2RootPath_AnonymousDespiteToken(t *testing.T) {
	t.Parallel()
	got, ok := auth.Noauth2(request("/", map[string]string{"X-Auth-Token": "admin"}))
	if !ok || !reflect.DeepEqual(got, auth.Caller{}) {
		t.Errorf("got %+v, %v; want the zero Caller, true", got, ok)
	}
}

func TestAuth_Caller_ProjectScopedOrNot(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		caller auth.Caller
		want   bool
	}{
		{"an anonymous caller", auth.Caller{}, true},
		{"a project", auth.Caller{ProjectID: "p"}, true},
		{"the system", auth.Caller{SystemScope: "all"}, false},
		{"a domain", auth.Caller{DomainID: "d"}, false},
		{"a domain beside a project", auth.Caller{ProjectID: "p", DomainID: "d"}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.caller.ProjectScoped() != c.want {
				t.Errorf("got %v, want %v", c.caller.ProjectScoped(), c.want)
			}
		})
	}
}

func TestAuth_Context_CarriesCaller(t *testing.T) {
	t.Parallel()
	if got := auth.From(t.Context()); !reflect.DeepEqual(got, auth.Caller{}) {
		t.Errorf("without a caller: got %+v, want the zero Caller", got)
	}
	want := auth.Caller{UserID: "u", ProjectID: "p", Roles: []string{"reader"}, DomainID: "d"}
	if got := auth.From(auth.With(t.Context(), want)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func FuzzNoauth2(f *testing.F) {
	f.Add("admin", "", false)
	f.Add("admin:p", "reader", true)
	f.Add(":", ",,", true)
	f.Add("", "", true)
	f.Add("u:p:q", " a ,\tb", true)
	f.Fuzz(func(t *testing.T, token, roles string, withRoles bool) {
		headers := map[string]string{"X-Auth-Token": token}
		if withRoles {
			headers["X-Roles"] = roles
		}
		got, ok := auth.Noauth2(request("/traits", headers))
		if !ok {
			t.Fatal("Noauth2 = false for a request with a token")
		}
		if token != got.UserID && token != got.UserID+":" && token != got.UserID+":"+got.ProjectID {
			t.Fatalf("token %q: got %+v", token, got)
		}
		if strings.Contains(got.UserID, ":") || got.ProjectID == "" && got.UserID != "" {
			t.Fatalf("token %q: got %+v", token, got)
		}
		for _, role := range got.Roles {
			if role == "" || strings.TrimSpace(role) != role || strings.Contains(role, ",") {
				t.Fatalf("roles %q: got %q", roles, got.Roles)
			}
		}
		if !withRoles && (token == "admin" || strings.HasPrefix(token, "admin:")) != slices.Equal(got.Roles, []string{"admin"}) {
			t.Fatalf("token %q: got roles %q", token, got.Roles)
		}
	})
}
