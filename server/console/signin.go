package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"
)

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
	session, projects, err := v.newSession(form)
	if err == nil && len(projects) > 0 {
		v.chooseProject(form, session, projects)
		return nil
	}
	if err == nil {
		err = v.setSession(session)
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

// localAddress returns an address of the console, or its first page for any other and for a long one.
func (v *visit) localAddress(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || len(address) > maxBack || parsed.Host != "" || parsed.Scheme != "" || strings.Contains(address, "\\") ||
		parsed.Path != v.base && !strings.HasPrefix(parsed.Path, v.base+"/") || strings.Contains(parsed.Path, "..") {
		return v.base
	}
	return address
}

// The ways to sign in, which are also the values of the field "with"; withProject is the purpose of a sealed choice.
const (
	withPassword    = "password"
	withToken       = "token"
	withApplication = "application credential"
	withProject     = "project"
)

// signInForm is the data of the sign-in page.
type signInForm struct {
	With, Back, Choice string
	Tabs               []Link
	Notices            []Notice
	Fields             []Input
	// Hint and Command say where the user gets what the form asks for.
	Hint, Command string
}

// hints fills where the user gets what the form of a way asks for.
func (c *Console) hints(form *signInForm) {
	switch {
	case c.options.Issuer != "":
		form.Hint = "A token is an access token, as a JSON Web Token, of the issuer " + c.options.Issuer + ". Its token endpoint issues it, for example to the command line of your identity provider."
	case c.options.Keystone == nil:
		form.Hint = "An operator creates a token and adds it to the file of the server with this command, which prints it once. The server has only its hash."
		form.Command = "berth token create --user NAME --project PROJECT --role reader"
	case form.With == withToken:
		form.Hint = "A token of Keystone for a project, as the clients of OpenStack send it. This command prints one."
		form.Command = "openstack token issue -f value -c id"
	case form.With == withApplication:
		form.Hint = "An application credential is for one project. This command prints its ID and its secret, the secret once."
		form.Command = "openstack application credential create NAME"
	default:
		form.Hint = "These are the user and the password of OpenStack. Keystone checks them and gives the console a token; Berth does not store the password."
	}
}

// sendForm sends the sign-in page, with a message and with the cause if another server sealed the cookie.
func (v *visit) sendForm(status int, message string, form signInForm) {
	if cookie, err := v.r.Cookie(cookieName); err == nil && message == "" {
		if _, err = v.c.sealer.open(cookieName, cookie.Value, time.Now()); err == errForeignCookie {
			form.Notices = append(form.Notices, Notice{Title: "Another server made your session, or this one before its restart.",
				Text: "Several servers need the same key, in --console-key-file."})
		}
	}
	if message != "" {
		form.Notices = append(form.Notices, Notice{Kind: "r", Text: message})
	}
	v.session, v.fragment, v.done = nil, false, true
	v.frame.Title, v.frame.Body = "Sign in", form
	v.render(status, "sign-in")
}

// form returns the form of a way to sign in, with what was entered. Secrets are not shown again.
func (v *visit) form(with string, entered url.Values) signInForm {
	if v.c.options.Keystone == nil {
		with = withToken
	}
	result := signInForm{With: cmp.Or(with, withPassword), Back: v.localAddress(entered.Get("back"))}
	text := func(name, label, hint string) {
		result.Fields = append(result.Fields, Input{ID: "sign-in-" + name, Name: name, Label: label, Hint: hint, Value: entered.Get(name)})
	}
	secret := func(name, label, complete string) {
		result.Fields = append(result.Fields, Input{ID: "sign-in-" + name, Name: name, Label: label, Type: "password", Autocomplete: complete})
	}
	switch result.With {
	case withToken:
		secret("token", "Token", "off")
	case withApplication:
		text("application_id", "Credential ID", "")
		secret("secret", "Secret", "off")
	default:
		result.With = withPassword
		text("user", "User", "")
		result.Fields[0].Autocomplete = "username"
		text("domain", "Domain", "Empty: Default")
		secret("password", "Password", "current-password")
		text("project", "Project", "Name or id. Empty: a list to choose from")
	}
	v.c.hints(&result)
	for _, each := range []string{withPassword, withToken, withApplication} {
		if v.c.options.Keystone != nil {
			href := v.href("/sign-in", "with", each, "back", result.Back)
			result.Tabs = append(result.Tabs, Link{Text: strings.ToUpper(each[:1]) + each[1:], Href: href, Current: each == result.With})
		}
	}
	return result
}

// chooseProject sends the form with the projects of a user. It carries the unscoped token sealed.
func (v *visit) chooseProject(form url.Values, unscoped *session, projects []Project) {
	signInForm := v.form(withPassword, form)
	signInForm.Choice = v.c.sealer.seal(withProject, unscoped)
	list := Input{ID: "sign-in-project", Name: "project_id", Label: "Project"}
	for _, project := range projects {
		list.Options = append(list.Options, Link{Text: project.Name, Href: project.ID})
	}
	signInForm.Fields, signInForm.Tabs = []Input{list}, nil
	signInForm.Hint, signInForm.Command = "Keystone has accepted the password. The session is for one of your projects.", ""
	v.sendForm(http.StatusOK, "", signInForm)
}
