package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// persona is a caller of a service without authentication.
type persona struct {
	Name  string
	User  string
	Roles []string
}

// personas are the callers to choose from with noauth2; the first is the default. They show what the policy does.
var personas = []persona{
	{"operator", "admin", []string{"admin", "service"}},
	{"administrator", "admin", []string{"admin"}},
	{"reader of a project", "reader", []string{"reader"}},
	{"nobody", "nobody", nil},
}

func (p persona) session() *session {
	return &session{User: p.User, Roles: p.Roles, Expires: time.Now().Add(maxSession)}
}

func (c *Console) signInRoutes() {
	c.page("GET /sign-in", "sign-in", (*visit).signInPage)
	c.page("POST /sign-in", "sign-in", (*visit).signInSubmit)
	c.page("GET /who", "who", (*visit).whoPage)
	c.page("POST /who", "who", (*visit).whoSubmit)
}

// needsSession reports whether a page needs a user.
func (c *Console) needsSession(pattern string) bool { return !strings.HasSuffix(pattern, " /sign-in") }

// signInForm is the data of the sign-in page.
type signInForm struct {
	Keystone      bool
	Message, Next string
	// Foreign reports a cookie of another server, which several servers without a common key cause.
	Foreign bool
	Given   Credentials
}

// signIn sends the sign-in page with status 401; it leads back to the page that was asked for.
func (v *visit) signIn(message string) {
	next := v.with()
	if v.r.Method == http.MethodPost {
		next = v.base
	}
	v.signInBody(signInForm{Message: message, Next: next})
	v.render(http.StatusUnauthorized, "sign-in")
	v.done = true
}

func (v *visit) signInBody(form signInForm) {
	form.Keystone = v.c.options.Keystone != nil
	if cookie, err := v.r.Cookie(cookieName); err == nil {
		_, err = v.c.sealer.open(cookie.Value, time.Now())
		form.Foreign = err == errForeignCookie
	}
	v.fragment = false
	v.frame.Title, v.frame.Body = "Sign in", form
}

func (v *visit) signInPage() error {
	if v.c.trustsCallers() {
		return v.redirect(v.base)
	}
	v.signInBody(signInForm{Next: v.query("next")})
	return nil
}

// signInSubmit exchanges credentials for a session. Neither the password nor the token is in an address or a log.
func (v *visit) signInSubmit() error {
	if v.c.trustsCallers() {
		return v.redirect(v.base)
	}
	if err := v.r.ParseForm(); err != nil {
		return invalid("the form cannot be read: %v", err)
	}
	form := v.r.PostForm
	made, err := v.newSession(form)
	if err != nil {
		given := Credentials{User: form.Get("user"), Domain: form.Get("domain"), Project: form.Get("project"), ApplicationID: form.Get("application_id")}
		v.signInBody(signInForm{Message: err.Error(), Next: form.Get("next"), Given: given})
		v.render(http.StatusUnauthorized, "sign-in")
		v.done = true
		return nil
	}
	if err := v.setSession(made); err != nil {
		return err
	}
	return v.redirect(v.localAddress(form.Get("next")))
}

// newSession returns the session of a token in the form, or of one that Keystone gives for the credentials.
func (v *visit) newSession(form url.Values) (*session, error) {
	token, expires := strings.TrimSpace(form.Get("token")), time.Now().Add(maxSession)
	if ask := v.c.options.Keystone; token == "" && ask != nil {
		given, until, err := ask(v.r.Context(), Credentials{
			User: form.Get("user"), Domain: form.Get("domain"), Password: form.Get("password"), Project: form.Get("project"),
			ApplicationID: form.Get("application_id"), Secret: form.Get("secret"),
		})
		if err != nil {
			return nil, err
		}
		if token = given; until.Before(expires) && !until.IsZero() {
			expires = until
		}
	}
	switch {
	case token == "":
		return nil, invalid("Enter a token.")
	case len(token) > maxToken:
		return nil, invalid("The token has %d bytes. A cookie has room for %d.", len(token), maxToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, invalid("The token has characters that no token has. Copy it again.")
	}
	probe := v.r.Clone(v.r.Context())
	probe.Header = http.Header{"X-Auth-Token": {token}}
	who, err := v.c.options.Identify(probe)
	if err != nil {
		return nil, err
	}
	return &session{Token: token, User: who.User, Project: who.Project, Roles: who.Roles, Expires: expires}, nil
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

// whoData is the data of the page that chooses the caller, the theme and the keys.
type whoData struct {
	Personas []persona
	Next     string
}

func (v *visit) whoPage() error {
	v.frame.Title = "Who is asking"
	v.frame.Body = whoData{personas, v.query("next")}
	return nil
}

// whoSubmit changes the theme, signs out, or changes the caller of a service that checks nobody.
func (v *visit) whoSubmit() error {
	if err := v.r.ParseForm(); err != nil {
		return invalid("the form cannot be read: %v", err)
	}
	form := v.r.PostForm
	next := v.localAddress(form.Get("next"))
	switch {
	case form.Has("theme"):
		theme := form.Get("theme")
		cookie := &http.Cookie{Name: themeCookie, Value: theme, Path: v.base, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.secure(), MaxAge: 1 << 28}
		if theme != "light" && theme != "dark" {
			cookie.Value, cookie.MaxAge = "", -1
		}
		http.SetCookie(v.w, cookie)
	case form.Has("sign-out"):
		if err := v.setSession(nil); err != nil {
			return err
		}
		next = v.base
	case v.c.trustsCallers():
		made, err := personaOf(form)
		if err != nil {
			return err
		}
		if err := v.setSession(made); err != nil {
			return err
		}
	}
	return v.redirect(next)
}

// personaOf returns the session of a named persona, or of the free fields.
func personaOf(form url.Values) (*session, error) {
	for _, known := range personas {
		if known.Name == form.Get("persona") {
			made := known.session()
			made.Project = form.Get("project")
			return made, nil
		}
	}
	user, project := strings.TrimSpace(form.Get("user")), strings.TrimSpace(form.Get("project"))
	if user == "" || strings.ContainsFunc(user+project+form.Get("roles"), func(r rune) bool { return r < ' ' || r > '~' }) || strings.Contains(user, ":") {
		return nil, invalid("The user %q is not a name: write printable characters without a colon.", user)
	}
	roles := strings.FieldsFunc(form.Get("roles"), func(r rune) bool { return r == ',' || r == ' ' })
	return &session{User: user, Project: project, Roles: slices.Clip(roles), Expires: time.Now().Add(maxSession)}, nil
}

// who returns the caller for the top bar.
func (v *visit) who() Who {
	if v.session == nil {
		return Who{}
	}
	who := Who{
		SignedIn: true, User: v.session.User, Project: v.session.Project, Roles: strings.Join(v.session.Roles, ", "), CanChoose: v.c.trustsCallers(),
	}
	for _, one := range personas {
		who.Personas = append(who.Personas, Link{Text: one.Name, Href: one.Name, Current: one.User == v.session.User && slices.Equal(one.Roles, v.session.Roles)})
	}
	return who
}

// theme returns "light", "dark", or "" for that of the system.
func (v *visit) theme() string {
	if cookie, err := v.r.Cookie(themeCookie); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		return cookie.Value
	}
	return ""
}

// secure reports whether the browser sees the console over TLS.
func (v *visit) secure() bool { return strings.HasPrefix(requestBase(v.r), "https:") }
