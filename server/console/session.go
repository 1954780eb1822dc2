package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cookieName is the cookie of the session, and themeCookie that of the theme.
const (
	cookieName  = "berth_console"
	themeCookie = "berth_theme"
)

// maxSession is the longest life of a session. maxCookie is the size of the name and the value that browsers keep.
const (
	maxSession = 8 * time.Hour
	maxCookie  = 4096
)

// session is the user of the console, as the cookie has it.
type session struct {
	// Token is sent as X-Auth-Token; empty with noauth2.
	Token string
	// User, Project and Roles name the caller. With noauth2 they are what the calls claim to be, else what the token says.
	User, Project string
	Roles         []string
	System        bool
	// Expires ends the session, in seconds.
	Expires time.Time
}

// separator is between the fields of a cookie. No token, id or role has it.
const separator = "\x00"

func (s *session) text() string {
	fields := []string{strconv.FormatInt(s.Expires.Unix(), 36), strconv.FormatBool(s.System), s.Token, s.User, s.Project}
	return strings.Join(append(fields, s.Roles...), separator)
}

// sessionOf returns the session of a text.
func sessionOf(text string) (*session, error) {
	fields := strings.Split(text, separator)
	if len(fields) < 5 {
		return nil, errForeignCookie
	}
	end, err := strconv.ParseInt(fields[0], 36, 64)
	if err != nil {
		return nil, errForeignCookie
	}
	return &session{Expires: time.Unix(end, 0), System: fields[1] == "true", Token: fields[2], User: fields[3], Project: fields[4], Roles: fields[5:]}, nil
}

// identify sets the headers of the caller.
func (s *session) identify(h http.Header) {
	if s.Token != "" {
		h.Set("X-Auth-Token", s.Token)
		return
	}
	token := s.User
	if s.Project != "" {
		token += ":" + s.Project
	}
	h.Set("X-Auth-Token", token)
	h.Set("X-Roles", strings.Join(s.Roles, ","))
}

// sealer encrypts sessions, so that a stolen cookie is good for the console and not for other services.
type sealer struct{ aead cipher.AEAD }

// newSealer returns the sealer of a key of 32 bytes; of a random key if it is empty.
func newSealer(key []byte) (*sealer, error) {
	if len(key) == 0 {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails
	}
	if len(key) != 32 {
		return nil, fmt.Errorf("the key of the console has %d bytes, want 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead}, err
}

// seal returns the text of a session for one purpose: the cookie, or the choice of a project.
func (s *sealer) seal(purpose string, plain *session) string {
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, []byte(plain.text()), []byte(purpose)))
}

// These are errors of open: a cookie that another server or no server sealed, and a session that has ended.
var (
	errForeignCookie = errors.New("another server sealed the cookie")
	errEnded         = errors.New("the session has ended")
)

func (s *sealer) open(purpose, text string, now time.Time) (*session, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, errForeignCookie
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(purpose))
	if err != nil {
		return nil, errForeignCookie
	}
	found, err := sessionOf(string(plain))
	if err == nil && !now.Before(found.Expires) {
		return nil, errEnded
	}
	return found, err
}

// session returns the session of a request; nil without one. With noauth2 each request has one.
func (c *Console) session(r *http.Request) *session {
	if cookie, err := r.Cookie(cookieName); err == nil {
		if found, err := c.sealer.open(cookieName, cookie.Value, time.Now()); err == nil && c.trustsCallers() == (found.Token == "") {
			return found
		}
	}
	if c.trustsCallers() {
		return personas[0].session()
	}
	return nil
}

// trustsCallers reports whether the service has no authentication.
func (c *Console) trustsCallers() bool { return c.options.Identify == nil }

// setSession sends the cookie of a session; nil deletes it. The roles of a token are only shown, so they are left out
// where they do not fit.
func (v *visit) setSession(s *session) error {
	cookie := v.cookie(cookieName)
	cookie.MaxAge = -1
	if s != nil {
		cookie.Value, cookie.MaxAge = v.c.sealer.seal(cookieName, s), max(1, int(time.Until(s.Expires).Seconds()))
		if s.Token != "" && len(cookieName+cookie.Value) > maxCookie {
			s.Roles = nil
			cookie.Value = v.c.sealer.seal(cookieName, s)
		}
	}
	if size := len(cookieName + cookie.Value); size > maxCookie {
		return invalid("This does not fit into a cookie: sealed it has %d bytes, and browsers keep %d. Use a shorter token, or shorter names.", size, maxCookie)
	}
	http.SetCookie(v.w, cookie)
	return nil
}

// cookie returns a cookie of the console without a value.
func (v *visit) cookie(name string) *http.Cookie {
	return &http.Cookie{Name: name, Path: v.base, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.secure()}
}

// secure reports whether the browser sees the console over TLS. Origin, whose host was compared, tells it of a form behind
// a proxy that does not.
func (v *visit) secure() bool {
	return strings.HasPrefix(requestBase(v.r), "https:") || strings.HasPrefix(v.r.Header.Get("Origin"), "https:")
}

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
	Back string
	// Headers are those that programs send for the caller.
	Headers string
	Facts   []Field
	Fields  []Input
}

func (v *visit) whoPage() error {
	s := v.session
	data := whoData{Back: v.localAddress(v.query("back"))}
	scope := map[bool]string{true: "system"}[s.System]
	for _, fact := range [][2]string{{"User", s.User}, {"Project", s.Project}, {"Roles", strings.Join(s.Roles, ", ")}, {"Scope", scope}, {"Session until", moment(s.Expires)}} {
		if fact[1] != "" {
			data.Facts = append(data.Facts, field(fact[0], fact[1]))
		}
	}
	if v.c.trustsCallers() {
		for _, field := range [][3]string{{"user", "User", s.User}, {"project", "Project", s.Project}, {"roles", "Roles", strings.Join(s.Roles, ", ")}} {
			data.Fields = append(data.Fields, Input{ID: "who-" + field[0], Name: field[0], Label: field[1], Value: field[2]})
		}
		data.Fields[2].Hint = "Separated by commas; empty: none"
		sent := http.Header{}
		s.identify(sent)
		data.Headers = "X-Auth-Token: " + sent.Get("X-Auth-Token") + "\nX-Roles: " + sent.Get("X-Roles")
	}
	v.head("Who is asking", "who", data)
	return nil
}

// whoSubmit changes the caller of a service that does not authenticate callers.
func (v *visit) whoSubmit() error {
	form, err := v.posted()
	if err != nil {
		return err
	}
	if v.c.trustsCallers() {
		session, err := personaOf(form)
		if err == nil {
			err = v.setSession(session)
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
			session := known.session()
			session.Project = project
			return session, nil
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
