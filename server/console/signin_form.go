package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"
)

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
	Submit             Submit
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
	made := signInForm{With: cmp.Or(with, withPassword), Back: v.localAddress(entered.Get("back")), Submit: Submit{Text: "Sign in", Kind: "main"}}
	text := func(name, label, hint string) {
		made.Fields = append(made.Fields, Input{ID: "sign-in-" + name, Name: name, Label: label, Hint: hint, Value: entered.Get(name)})
	}
	secret := func(name, label, complete string) {
		made.Fields = append(made.Fields, Input{ID: "sign-in-" + name, Name: name, Label: label, Type: "password", Autocomplete: complete})
	}
	switch made.With {
	case withToken:
		secret("token", "Token", "off")
	case withApplication:
		text("application_id", "Credential ID", "")
		secret("secret", "Secret", "off")
	default:
		made.With = withPassword
		text("user", "User", "")
		made.Fields[0].Autocomplete = "username"
		text("domain", "Domain", "Empty: Default")
		secret("password", "Password", "current-password")
		text("project", "Project", "Name or id. Empty: a list to choose from")
	}
	for _, each := range []string{withPassword, withToken, withApplication} {
		if v.c.options.Keystone != nil {
			href := v.href("/sign-in", "with", each, "back", made.Back)
			made.Tabs = append(made.Tabs, Link{Text: strings.ToUpper(each[:1]) + each[1:], Href: href, Current: each == made.With})
		}
	}
	return made
}

// chooseProject sends the form with the projects of a user. It carries the unscoped token sealed.
func (v *visit) chooseProject(form url.Values, unscoped *session, projects []Project) {
	made := v.form(withPassword, form)
	made.Choice = v.c.sealer.seal(withProject, unscoped)
	list := Input{ID: "sign-in-project", Name: "project_id", Label: "Project"}
	for _, project := range projects {
		list.Options = append(list.Options, Link{Text: project.Name, Href: project.ID})
	}
	made.Fields, made.Tabs = []Input{list}, nil
	v.sendForm(http.StatusOK, "", made)
}
