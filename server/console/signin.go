package console

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/berthd/berth/server/querystring"
)

func (c *Console) signInRoutes() {
	c.page("GET /sign-in", "sign-in", (*visit).signInPage)
	c.page("POST /sign-in", "sign-in", (*visit).signInSubmit)
	c.page("POST /sign-out", "sign-in", (*visit).signOut)
	c.page("GET /who", "who", (*visit).whoPage)
	c.page("POST /who", "who", (*visit).whoSubmit)
	c.page("POST /theme", "who", (*visit).themeSubmit)
}

// needsSession reports whether a page needs a user.
func (c *Console) needsSession(pattern string) bool {
	return !strings.HasSuffix(pattern, " /sign-in") && pattern != "POST /sign-out" && pattern != "POST /theme"
}

// signIn sends the sign-in page with status 401; it leads back to the page that was asked for. A card of an open page leads
// the whole page there.
func (v *visit) signIn(message string) {
	back := v.with()
	if v.r.Method == http.MethodPost {
		back = v.base
	}
	if v.r.Header.Get("HX-Request") != "" {
		v.w.Header().Set("HX-Redirect", back)
	}
	v.sendForm(http.StatusUnauthorized, message, v.form("", url.Values{"back": {back}}))
}

func (v *visit) signInPage() error {
	if v.c.trustsCallers() {
		return v.redirect(v.base)
	}
	v.sendForm(http.StatusOK, "", v.form(v.query("with"), url.Values{"back": {v.query("back")}}))
	return nil
}

// signInSubmit exchanges credentials for a session. Neither the password nor the token is in an address or a log.
func (v *visit) signInSubmit() error {
	if v.c.trustsCallers() {
		return v.redirect(v.base)
	}
	form, err := v.posted()
	if err != nil {
		return err
	}
	made, projects, err := v.newSession(form)
	if err == nil && len(projects) > 0 {
		v.chooseProject(form, made, projects)
		return nil
	}
	if err == nil {
		err = v.setSession(made)
	}
	if err != nil {
		status := http.StatusUnauthorized
		if isUnavailable(err) {
			status = http.StatusServiceUnavailable
		}
		v.sendForm(status, err.Error(), v.form(form.Get("with"), form))
		return nil
	}
	return v.redirect(v.localAddress(form.Get("back")))
}

// choiceTime is how long a user may choose a project.
const choiceTime = 10 * time.Minute

// newSession returns the session of a token in the form, or of one that Keystone gives for the credentials. With projects
// it is unscoped, and one of them must be chosen.
func (v *visit) newSession(form url.Values) (*session, []Project, error) {
	token, expires := strings.TrimSpace(form.Get("token")), time.Now().Add(maxSession)
	if ask := v.c.options.Keystone; token == "" && ask != nil {
		given := Credentials{
			User: form.Get("user"), Domain: form.Get("domain"), Password: form.Get("password"), Project: form.Get("project"),
			ApplicationID: form.Get("application_id"), Secret: form.Get("secret"), ProjectID: form.Get("project_id"),
		}
		if form.Has("choice") {
			unscoped, err := v.c.sealer.open(withProject, form.Get("choice"), time.Now())
			if err != nil {
				return nil, nil, invalid("The choice of a project has expired. Sign in again.")
			}
			given = Credentials{Token: unscoped.Token, ProjectID: given.ProjectID}
		}
		grant, err := ask(v.r.Context(), given)
		if err != nil {
			return nil, nil, err
		}
		if len(grant.Projects) > 0 {
			return &session{Token: grant.Token, Expires: time.Now().Add(choiceTime)}, grant.Projects, nil
		}
		token, expires = grant.Token, earlier(expires, grant.Expires)
	}
	switch {
	case token == "":
		return nil, nil, invalid("Enter a token.")
	case len(token) > maxCookie:
		return nil, nil, invalid("The token has %d bytes. It does not fit into a cookie.", len(token))
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, nil, invalid("The token has characters that no token has. Copy it again.")
	}
	who, err := v.c.options.Identify(v.probe(token))
	if err != nil {
		return nil, nil, err
	}
	return &session{Token: token, User: who.User, Project: who.Project, Roles: who.Roles, System: who.System, Expires: earlier(expires, who.Expires)}, nil, nil
}

// probe returns a read request with a token. Tokens may be restricted to paths.
func (v *visit) probe(token string) *http.Request {
	probe := below(v.r, v.c.options.Prefix+"/resource_providers")
	probe.Method, probe.Header = http.MethodGet, http.Header{"X-Auth-Token": {token}}
	return probe
}

// earlier returns the end of a session, which is not later than that of its token; zero: not known.
func earlier(end, token time.Time) time.Time {
	if !token.IsZero() && token.Before(end) {
		return token
	}
	return end
}

func (v *visit) signOut() error {
	if err := v.setSession(nil); err != nil {
		return err
	}
	return v.redirect(v.base)
}

// posted returns the fields of a form.
func (v *visit) posted() (url.Values, error) {
	body, err := io.ReadAll(v.r.Body)
	if err != nil {
		return nil, invalid("The form cannot be read, or is larger than 1 MiB: %v.", err)
	}
	fields, err := querystring.Parse(string(body))
	if err != nil {
		return nil, invalid("The form cannot be read: %v.", err)
	}
	form := url.Values{}
	for _, field := range fields.Pairs() {
		form.Add(field.Name, field.Value)
	}
	return form, nil
}

// localAddress returns an address of the console, or its first page for any other.
func (v *visit) localAddress(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host != "" || parsed.Scheme != "" || strings.Contains(address, "\\") ||
		parsed.Path != v.base && !strings.HasPrefix(parsed.Path, v.base+"/") || strings.Contains(parsed.Path, "..") {
		return v.base
	}
	return address
}
