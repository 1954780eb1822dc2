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
	{"no role", "guest", nil},
}

func (p persona) session() *session {
	return &session{User: p.User, Roles: p.Roles, Expires: time.Now().Add(maxSession)}
}

// whoData is the data of the page that shows the caller, and chooses it where the service does not authenticate callers.
type whoData struct {
	Back   string
	Facts  []Field
	Fields []Input
	Submit Submit
}

func (v *visit) whoPage() error {
	s := v.session
	data := whoData{Back: v.localAddress(v.query("back")), Submit: Submit{Text: "Read as this user", Kind: "main"}}
	fact := func(name, value string) {
		if value != "" {
			data.Facts = append(data.Facts, Field{Name: name, Values: []Link{{Text: value}}})
		}
	}
	fact("User", s.User)
	fact("Project", s.Project)
	fact("Roles", strings.Join(s.Roles, ", "))
	if s.System {
		fact("Scope", "system")
	}
	fact("Session until", stamp(s.Expires))
	if v.c.trustsCallers() {
		for _, field := range [][3]string{{"user", "User", s.User}, {"project", "Project", s.Project}, {"roles", "Roles", strings.Join(s.Roles, ", ")}} {
			data.Fields = append(data.Fields, Input{ID: "who-" + field[0], Name: field[0], Label: field[1], Value: field[2]})
		}
		data.Fields[2].Hint = "Separated by commas; empty: none"
	}
	v.frame.Title, v.frame.Nav, v.frame.Body = "Who is asking", "who", data
	return nil
}

// whoSubmit changes the caller of a service that does not authenticate callers.
func (v *visit) whoSubmit() error {
	form, err := v.posted()
	if err != nil {
		return err
	}
	if v.c.trustsCallers() {
		made, err := personaOf(form)
		if err == nil {
			err = v.setSession(made)
		}
		if err != nil {
			return err
		}
	}
	return v.redirect(v.localAddress(form.Get("back")))
}

// themeSubmit changes the theme; without a known one it is that of the system.
func (v *visit) themeSubmit() error {
	form, err := v.posted()
	if err != nil {
		return err
	}
	cookie := v.cookie(themeCookie)
	if theme := form.Get("theme"); theme == "light" || theme == "dark" {
		cookie.Value, cookie.MaxAge = theme, 1<<28
	} else {
		cookie.MaxAge = -1
	}
	http.SetCookie(v.w, cookie)
	return v.redirect(v.localAddress(form.Get("back")))
}

// personaOf returns the session of a named persona, or of the free fields.
func personaOf(form url.Values) (*session, error) {
	user, project := strings.TrimSpace(form.Get("user")), strings.TrimSpace(form.Get("project"))
	if strings.ContainsFunc(user+project+form.Get("roles"), func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, invalid("The user, project and roles must be printable characters of ASCII.")
	}
	for _, known := range personas {
		if known.Name == form.Get("persona") {
			made := known.session()
			made.Project = project
			return made, nil
		}
	}
	if user == "" || strings.Contains(user, ":") {
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
	s := v.session
	who := Who{SignedIn: true, User: s.User, Project: s.Project, Roles: strings.Join(s.Roles, ", "), CanChoose: v.c.trustsCallers()}
	for _, each := range personas {
		who.Personas = append(who.Personas, Link{Text: each.Name, Href: each.Name, Current: each.User == s.User && slices.Equal(each.Roles, s.Roles)})
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
