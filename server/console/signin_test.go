package console

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestAuth_ConsoleWithToken_ReturnsToThePage(t *testing.T) {
	t.Parallel()
	var got http.Header
	s := newSite(t, nil, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = io.WriteString(w, `{"resource_provider_generation": 1, "usages": {}}`)
	})
	w := s.send(http.MethodGet, "/console/probe?a=1&b=%3C", nil)
	wantStatus(t, w, http.StatusUnauthorized)
	wantText(t, w, `name="back" value="/console/probe?a=1&amp;b=%3C"`, `name="token" type="password"`)
	if strings.Contains(w.Body.String(), `name="password"`) || got != nil {
		t.Errorf("the page asks for a password, or the page called the API: %v", got)
	}
	w = s.send(http.MethodPost, "/console/sign-in", url.Values{"token": {" " + goodToken + "\n"}, "back": {"/console/probe?a=1&b=%3C"}})
	wantStatus(t, w, http.StatusSeeOther)
	if location := w.Header().Get("Location"); location != "/console/probe?a=1&b=%3C" {
		t.Errorf("Location = %q", location)
	}
	cookie := cookieOf(t, w)
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/console" || cookie.Domain != "" || cookie.Secure ||
		cookie.MaxAge < int(maxSession.Seconds())-5 || cookie.MaxAge > int(maxSession.Seconds()) {
		t.Errorf("cookie = %v", cookie)
	}
	wantStatus(t, s.send(http.MethodGet, "/console/probe", nil, "Cookie", cookie.String(), "X-Roles", "admin", "X-Auth-Token", "another"), http.StatusOK)
	if got.Get("X-Auth-Token") != goodToken || got.Get("X-Roles") != "" || got.Get("Cookie") != "" {
		t.Errorf("the call has the headers %v", got)
	}
}

func TestAuth_ConsoleWrongToken_IsASentence(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	for token, want := range map[string]struct {
		status int
		text   string
	}{
		"":                        {http.StatusUnauthorized, "Enter a token."},
		"wrong":                   {http.StatusUnauthorized, "does not accept this token"},
		"away":                    {http.StatusServiceUnavailable, "Keystone does not answer. Try again."},
		"two words":               {http.StatusUnauthorized, "characters that no token has"},
		"tökén":                   {http.StatusUnauthorized, "characters that no token has"},
		strings.Repeat("t", 5000): {http.StatusUnauthorized, "The token has 5000 bytes. It does not fit into a cookie."},
	} {
		w := s.send(http.MethodPost, "/console/sign-in", url.Values{"token": {token}, "back": {"/console/probe"}})
		wantStatus(t, w, want.status)
		wantText(t, w, want.text, `name="back" value="/console/probe"`)
		if len(w.Result().Cookies()) > 0 || token != "" && strings.Contains(w.Body.String(), token) {
			t.Errorf("%.20q: cookies %v, or the token is on the page", token, w.Result().Cookies())
		}
	}
}

// The cookie must not be larger than what browsers keep: they would drop it, and the user would be asked again for ever.
func TestAuth_ConsoleLargeToken_FitsOrIsRefused(t *testing.T) {
	t.Parallel()
	var roles []string
	for i := range 40 {
		roles = append(roles, fmt.Sprintf("role-number-%d", i))
	}
	s := newSite(t, func(options *Options) {
		options.Identify = func(*http.Request) (Identity, error) {
			return Identity{User: strings.Repeat("u", 36), Project: strings.Repeat("p", 36), Roles: roles}, nil
		}
	}, nil)
	for size := 100; size < 3600; size += 250 {
		w := s.send(http.MethodPost, "/console/sign-in", url.Values{"token": {strings.Repeat("t", size)}})
		if w.Code == http.StatusUnauthorized && size > 2800 {
			wantText(t, w, "does not fit into a cookie")
			continue
		}
		wantStatus(t, w, http.StatusSeeOther)
		cookie := cookieOf(t, w)
		if len(cookie.Name+cookie.Value) > maxCookie {
			t.Errorf("the cookie of a token of %d bytes has %d bytes", size, len(cookie.Value))
		}
		page := s.send(http.MethodGet, "/console/who", nil, "Cookie", cookie.String())
		wantText(t, page, strings.Repeat("u", 36))
		if size < 1500 {
			wantText(t, page, "role-number-39")
		}
	}
}

func TestAuth_ConsoleSession_EndsWithItsToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		expires time.Time
		want    time.Duration
	}{
		"a token of an hour": {time.Now().Add(time.Hour), time.Hour},
		"a token of a year":  {time.Now().AddDate(1, 0, 0), maxSession},
		"not known":          {time.Time{}, maxSession},
	} {
		s := newSite(t, func(options *Options) {
			options.Identify = func(*http.Request) (Identity, error) { return Identity{User: "ada", Expires: c.expires}, nil }
		}, nil)
		cookie := cookieOf(t, s.send(http.MethodPost, "/console/sign-in", url.Values{"token": {"t"}}))
		opened, err := s.c.sealer.open(cookieName, cookie.Value, time.Now())
		if err != nil || cookie.MaxAge > int(c.want.Seconds()) || cookie.MaxAge < int(c.want.Seconds())-60 || opened.Expires.After(time.Now().Add(c.want)) {
			t.Errorf("%s: the cookie lives %d s, its session until %v, %v", name, cookie.MaxAge, opened, err)
		}
	}
}

func TestAuth_ConsoleSignOut_DeletesTheCookie(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	w := s.send(http.MethodPost, "/console/sign-out", nil, s.signIn()...)
	wantStatus(t, w, http.StatusSeeOther)
	if cookie := cookieOf(t, w); cookie.MaxAge != -1 || cookie.Value != "" || cookie.Path != "/console" || w.Header().Get("Location") != "/console" {
		t.Errorf("cookie = %v, %v", cookie, w.Header())
	}
}

// The three answers of the API that concern the caller.
func TestAuth_ConsoleCallRefused_IsExplained(t *testing.T) {
	t.Parallel()
	status, detail := 0, ""
	s := newSite(t, func(options *Options) { options.Prefix = "/placement" }, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"errors": [{"status": %d, "title": "T", "detail": %q, "request_id": "req-1"}]}`, status, detail)
	})
	as := s.signIn()
	status, detail = http.StatusUnauthorized, "The request you have made requires authentication."
	w := s.send(http.MethodGet, "/placement/console/probe?x=1", nil, as...)
	wantStatus(t, w, http.StatusUnauthorized)
	wantText(t, w, "The session has ended. Sign in again.", `value="/placement/console/probe?x=1"`)
	w = s.send(http.MethodGet, "/placement/console/probe?card=x", nil, append(as, "HX-Request", "true")...)
	if got := w.Header().Get("HX-Redirect"); got != "/placement/console/probe" {
		t.Errorf("HX-Redirect = %q of a card without a session", got)
	}

	status, detail = http.StatusForbidden, "Access was denied to this resource.: Policy does not allow placement:resource_providers:usages to be performed."
	w = s.send(http.MethodGet, "/placement/console/probe", nil, as...)
	wantStatus(t, w, http.StatusForbidden)
	wantText(t, w, "Not allowed", "<code>placement:resource_providers:usages</code>", `aria-label="Main"`,
		`data-copy="berth policy check GET /resource_providers/00000000-0000-0000-0000-000000000000/usages --roles member,reader --user ada --project lab"`)

	status, detail = http.StatusServiceUnavailable, "The Keystone service is temporarily unavailable."
	w = s.send(http.MethodGet, "/placement/console/probe?x=1", nil, as...)
	wantStatus(t, w, http.StatusServiceUnavailable)
	wantText(t, w, "The Keystone service is temporarily unavailable.", `<a href="/placement/console/probe?x=1">Try again</a>`, "req-1")
}

func TestConsole_PolicyCommand_IsQuoted(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(options *Options) {
		options.Identify = func(*http.Request) (Identity, error) {
			return Identity{User: "a'; rm -rf ~", Roles: []string{"$(id)"}, System: true}, nil
		}
	}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"errors": [{"status": 403, "title": "Forbidden", "detail": "placement:usages"}]}`)
	})
	w := s.send(http.MethodGet, "/console/probe", nil, s.signIn()...)
	wantText(t, w, `--roles &#39;$(id)&#39; --user &#39;a&#39;\&#39;&#39;; rm -rf ~&#39; --system-scope all"`)
}

// fakeKeystone is the sign-in of a user with two projects.
func fakeKeystone(given *[]Credentials) Keystone {
	return func(_ context.Context, who Credentials) (Grant, error) {
		*given = append(*given, who)
		switch {
		case who.Password == "away":
			return Grant{}, Unavailable("Keystone does not answer. Try again.")
		case who.Token == "unscoped" && who.ProjectID == "p2", who.ApplicationID == "id" && who.Secret == "sesame":
			return Grant{Token: goodToken, Expires: soon()}, nil
		case who.Password != "sesame":
			return Grant{}, InvalidCredentials("Keystone: The request you have made requires authentication.")
		case who.Project == "":
			return Grant{Token: "unscoped", Projects: []Project{{"p1", "lab"}, {"p2", "<b>render"}}}, nil
		}
		return Grant{Token: goodToken, Expires: soon()}, nil
	}
}

func TestKeystone_ConsoleSignIn_ByPasswordProjectAndCredential(t *testing.T) {
	t.Parallel()
	var given []Credentials
	s := newSite(t, func(options *Options) { options.Keystone = fakeKeystone(&given) }, nil)
	w := s.send(http.MethodGet, "/console/sign-in?back=%2Fconsole%2Fprobe", nil)
	wantStatus(t, w, http.StatusOK)
	wantText(t, w, `name="user"`, `name="password" type="password"`, "?with=application%20credential&amp;back=/console/probe")
	wantText(t, s.send(http.MethodGet, "/console/sign-in?with=token", nil), `name="token"`)
	wantText(t, s.send(http.MethodGet, "/console/sign-in?with=application+credential", nil), `name="application_id"`, `name="secret" type="password"`)

	entered := url.Values{"with": {"password"}, "user": {"ada"}, "domain": {"people"}, "password": {"wrong-password"}, "project": {"lab"}, "back": {"/console/probe"}}
	w = s.send(http.MethodPost, "/console/sign-in", entered)
	wantStatus(t, w, http.StatusUnauthorized)
	wantText(t, w, "Keystone: The request you have made requires authentication.", `value="ada"`, `value="people"`, `value="lab"`, `value="/console/probe"`)
	entered.Set("password", "away")
	wantStatus(t, s.send(http.MethodPost, "/console/sign-in", entered), http.StatusServiceUnavailable)
	entered.Set("password", "sesame")
	w = s.send(http.MethodPost, "/console/sign-in", entered)
	wantStatus(t, w, http.StatusSeeOther)
	if cookie := cookieOf(t, w); cookie.MaxAge > int(time.Hour.Seconds()) {
		t.Errorf("the cookie outlives the token: %v", cookie)
	}
	w = s.send(http.MethodPost, "/console/sign-in", url.Values{"with": {"application credential"}, "application_id": {"id"}, "secret": {"sesame"}})
	wantStatus(t, w, http.StatusSeeOther)
	if last := given[len(given)-1]; last.ApplicationID != "id" || last.Password != "" {
		t.Errorf("credentials = %+v", last)
	}
}

func TestKeystone_ConsoleSignInWithoutProject_ChoosesOne(t *testing.T) {
	t.Parallel()
	var given []Credentials
	s := newSite(t, func(options *Options) { options.Keystone = fakeKeystone(&given) }, nil)
	w := s.send(http.MethodPost, "/console/sign-in", url.Values{"user": {"ada"}, "password": {"sesame"}, "back": {"/console/probe"}})
	wantStatus(t, w, http.StatusOK)
	wantText(t, w, `<option value="p1">lab</option>`, `<option value="p2">&lt;b&gt;render</option>`, `name="choice"`)
	_, rest, _ := strings.Cut(w.Body.String(), `name="choice" value="`)
	choice, _, _ := strings.Cut(rest, `"`)
	if strings.Contains(w.Body.String(), "unscoped") || strings.Contains(w.Body.String(), "sesame") || len(w.Result().Cookies()) > 0 {
		t.Errorf("the page has the token or the password: %s", w.Body)
	}
	form := url.Values{"with": {"project"}, "choice": {choice}, "project_id": {"p2"}, "back": {"/console/probe"}}
	w = s.send(http.MethodPost, "/console/sign-in", form)
	wantStatus(t, w, http.StatusSeeOther)
	if last := given[len(given)-1]; last != (Credentials{Token: "unscoped", ProjectID: "p2"}) || w.Header().Get("Location") != "/console/probe" {
		t.Errorf("credentials = %+v, Location = %q", last, w.Header().Get("Location"))
	}
	session := strings.TrimPrefix(s.signIn()[1], cookieName+"=")
	old := s.c.sealer.seal(withProject, &session0)
	for _, wrong := range []string{"", "forged", session, old} {
		form.Set("choice", wrong)
		w = s.send(http.MethodPost, "/console/sign-in", form)
		wantStatus(t, w, http.StatusUnauthorized)
		wantText(t, w, "The choice of a project has expired.", `name="password"`)
	}
}

// session0 is a choice that has expired.
var session0 = session{Token: "unscoped", Expires: time.Unix(0, 0)}

func TestAuth_ConsolePersonas_AreSentAsTheyClaim(t *testing.T) {
	t.Parallel()
	var token, roles string
	s := newSite(t, noauth2, func(w http.ResponseWriter, r *http.Request) {
		token, roles = r.Header.Get("X-Auth-Token"), strings.Join(r.Header.Values("X-Roles"), "|")
		_, _ = io.WriteString(w, `{"resource_provider_generation": 1, "usages": {}}`)
	})
	wantStatus(t, s.send(http.MethodGet, "/console/probe", nil), http.StatusOK)
	if token != "admin" || roles != "admin,service" {
		t.Errorf("the first persona is %q with %q", token, roles)
	}
	for _, c := range []struct {
		form         url.Values
		token, roles string
	}{
		{url.Values{"persona": {"administrator"}}, "admin", "admin"},
		{url.Values{"persona": {"reader of a project"}, "project": {"lab"}}, "reader:lab", "reader"},
		{url.Values{"persona": {"no role"}}, "guest", ""},
		{url.Values{"user": {"ada"}, "project": {"lab"}, "roles": {"member, reader"}}, "ada:lab", "member,reader"},
	} {
		w := s.send(http.MethodPost, "/console/who", c.form)
		wantStatus(t, w, http.StatusSeeOther)
		wantStatus(t, s.send(http.MethodGet, "/console/probe", nil, "Cookie", cookieOf(t, w).String()), http.StatusOK)
		if token != c.token || roles != c.roles {
			t.Errorf("%v: sent as %q with %q", c.form, token, roles)
		}
	}
	for name, form := range map[string]url.Values{
		"a new line in a project": {"persona": {"operator"}, "project": {"a\r\nX-Roles: admin"}},
		"a new line in a user":    {"user": {"a\nb"}},
		"a new line in roles":     {"user": {"a"}, "roles": {"a\x00"}},
		"a colon":                 {"user": {"a:b"}},
		"no user":                 {"roles": {"admin"}},
		"too long":                {"user": {strings.Repeat("u", 4000)}},
	} {
		w := s.send(http.MethodPost, "/console/who", form)
		wantStatus(t, w, http.StatusBadRequest)
		if len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: a cookie was set", name)
		}
	}
	wantText(t, s.send(http.MethodGet, "/console/who", nil), "this service does not authenticate its callers", `name="persona" value="reader of a project"`)
}

func TestAuth_ConsolePersonaMenu_NotWithAuthentication(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	as := s.signIn()
	w := s.send(http.MethodGet, "/console/who", nil, as...)
	if strings.Contains(w.Body.String(), `name="persona"`) || strings.Contains(w.Body.String(), `name="roles"`) {
		t.Errorf("the page lets the user choose: %s", w.Body)
	}
	w = s.send(http.MethodPost, "/console/who", url.Values{"persona": {"operator"}}, as...)
	if len(w.Result().Cookies()) > 0 {
		t.Errorf("a persona was chosen: %v", w.Header())
	}
}

func TestAuth_ConsoleUnprotected_WarnsOnEachPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(options *Options) { noauth2(options); options.Settings.Unprotected = true }, nil)
	for _, path := range []string{"/console/probe", "/console/who", "/console/nowhere"} {
		wantText(t, s.send(http.MethodGet, path, nil), `<p class="warning" role="alert">This service does not authenticate its callers, and other hosts can reach it`)
	}
	if strings.Contains(newSite(t, noauth2, nil).send(http.MethodGet, "/console/probe", nil).Body.String(), "and other hosts can reach it") {
		t.Error("a page on loopback warns")
	}
}

// No secret is in a page, an address or the log, whatever happens to it.
func TestAuth_ConsoleSecrets_InNoLogPageOrAddress(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-of-ada"
	var given []Credentials
	status := http.StatusOK
	s := newSite(t, func(options *Options) {
		options.Keystone = fakeKeystone(&given)
		options.Identify = func(r *http.Request) (Identity, error) {
			if status == http.StatusTeapot {
				return Identity{}, errBadToken
			}
			return Identity{User: "ada"}, nil
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		if status == http.StatusGone {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"resource_provider_generation": 1, "usages": {}}`)
	})
	var pages []string
	keep := func(method, target string, form url.Values, headers ...string) {
		w := s.send(method, target, form, headers...)
		pages = append(pages, w.Body.String()+fmt.Sprint(w.Header()))
	}
	for _, status = range []int{http.StatusOK, http.StatusTeapot} {
		keep(http.MethodPost, "/console/sign-in", url.Values{"token": {secret}})
		keep(http.MethodPost, "/console/sign-in", url.Values{"token": {secret + "ö"}})
		keep(http.MethodPost, "/console/sign-in", url.Values{"user": {"ada"}, "password": {secret}})
		keep(http.MethodPost, "/console/sign-in", url.Values{"application_id": {"a"}, "secret": {secret}})
		keep(http.MethodPost, "/console/sign-in", url.Values{"token": {secret}}, "Sec-Fetch-Site", "cross-site")
		keep(http.MethodPost, "/console/nowhere", url.Values{"token": {secret}})
	}
	cookie := cookieName + "=" + s.c.sealer.seal(cookieName, &session{Token: secret, User: "ada", Expires: soon()})
	for _, status = range []int{200, 400, 401, 403, 404, 406, 409, 410, 429, 500, 503} {
		keep(http.MethodGet, "/console/probe", nil, "Cookie", cookie)
	}
	for _, text := range append(pages, s.log.String()) {
		if strings.Contains(text, secret) {
			t.Errorf("the secret is in %s", text)
		}
	}
}

// TestConsole_SignIn_SaysWhereATokenComesFrom opens the forms of all methods.
func TestConsole_SignIn_SaysWhereATokenComesFrom(t *testing.T) {
	t.Parallel()
	keystone := func(o *Options) {
		o.Keystone = func(context.Context, Credentials) (Grant, error) { return Grant{}, errBadToken }
	}
	for _, test := range []struct {
		change func(*Options)
		with   string
		want   string
	}{
		{nil, "", "berth token create --user NAME"},
		{func(o *Options) { o.Issuer = "https://issuer.example.org/realms/a" }, "", "of the issuer https://issuer.example.org/realms/a"},
		{keystone, "", "the user and the password of OpenStack"},
		{keystone, "token", "openstack token issue"},
		{keystone, "application+credential", "openstack application credential create"},
	} {
		w := newSite(t, test.change, nil).send(http.MethodGet, "/console/sign-in?with="+test.with, nil)
		wantStatus(t, w, http.StatusOK)
		wantText(t, w, test.want)
	}
	w := newSite(t, noauth2, nil).send(http.MethodGet, "/console/who", nil)
	wantText(t, w, "no token is issued", "X-Auth-Token: admin\nX-Roles: admin,service")
	w = newSite(t, noauth2, nil).send(http.MethodGet, "/console/audit", nil)
	if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != "/console/consistency" {
		t.Errorf("the former address of the consistency check: status = %d, Location = %q", w.Code, got)
	}
}
