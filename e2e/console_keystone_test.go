//go:build client

package e2e

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// consoleUser is a browser that is at the console.
type consoleUser struct {
	t       *testing.T
	address string
	client  *http.Client
}

func newConsoleUser(t *testing.T, address string) *consoleUser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &consoleUser{t, address + "/console", &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// want checks the status and the texts of a page, which it returns.
func (u *consoleUser) want(answer *http.Response, err error, status int, texts ...string) string {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	page := string(read)
	if answer.StatusCode != status {
		u.t.Errorf("status = %d, want %d: %s", answer.StatusCode, status, page)
	}
	for _, text := range texts {
		if !strings.Contains(page, text) {
			u.t.Errorf("the page lacks %q: %s", text, page)
		}
	}
	return page
}

// signIn sends the form of the sign-in page, which leads to the page about the user.
func (u *consoleUser) signIn(status int, fields []string, texts ...string) string {
	u.t.Helper()
	form := url.Values{"back": {"/console/who"}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	answer, err := u.client.PostForm(u.address+"/sign-in", form)
	return u.want(answer, err, status, texts...)
}

// choice is the hidden field of the form with projects.
var choice = regexp.MustCompile(`name="choice" value="([^"]*)"`)

func callersOpenTheConsole(t *testing.T, identity *keystone, address string) {
	const isAlice = `<dt>Roles</dt><dd>reader</dd>`
	alice := newConsoleUser(t, address)
	answer, err := alice.client.Get(alice.address + "/who")
	alice.want(answer, err, http.StatusUnauthorized, `name="password"`)
	alice.signIn(http.StatusUnauthorized, []string{"user", "alice", "password", "wrong"}, "Keystone: The request you have made requires authentication.")
	alice.signIn(http.StatusOK, []string{"user", "alice", "password", keystonePassword, "project", "demo"}, isAlice)
	newConsoleUser(t, address).signIn(http.StatusOK, []string{"user", "alice", "domain", "Default", "password", keystonePassword}, isAlice)
	newConsoleUser(t, address).signIn(http.StatusUnauthorized, []string{"user", "alice", "password", keystonePassword, "project", "admin"}, "Keystone: ")

	token := identity.token(t, identity.password("alice", "demo"))
	newConsoleUser(t, address).signIn(http.StatusOK, []string{"with", "token", "token", token}, isAlice)
	given := identity.credential(t, identity.password("alice", "demo"), "console")
	newConsoleUser(t, address).signIn(http.StatusOK, []string{"application_id", given.ApplicationCredentialID, "secret", given.ApplicationCredentialSecret}, isAlice)

	other := identity.project(t, "console-other")
	carol := newConsoleUser(t, address)
	id := identity.user(t, "carol", other, "reader")
	identity.grant(t, "observer", assignment{UserID: id, ProjectID: identity.project(t, "console-another")})
	page := carol.signIn(http.StatusOK, []string{"user", "carol", "password", keystonePassword}, "console-another", `<option value="`+other+`">console-other</option>`)
	found := choice.FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no choice of a project: %s", page)
	}
	carol.signIn(http.StatusOK, []string{"choice", found[1], "project_id", other}, isAlice, "<dd>"+other+"</dd>")
	identity.revoke(t, token)
}
