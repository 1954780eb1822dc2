package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// handler returns the service with the default settings of `berth serve`.
func handler(t *testing.T, databaseURL string) http.Handler {
	t.Helper()
	opened, err := store.Open(t.Context(), postgres.Options{URL: databaseURL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	if err := opened.SyncStandardNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	return servertest.Handlers(opened, nil).Public
}

// docShell is an interpreter of the shell and curl commands that the tour uses, so that a machine with Go alone can test
// the tour. With the build tag client, the same blocks run in a shell with curl.
type docShell struct {
	handler   http.Handler
	variables map[string]string
}

// tourURL is the address of the service in the tour.
const tourURL = "http://127.0.0.1:8778"

// shellFunctions are the lines in which the tour defines its shell functions. docShell implements them, so both change
// together.
var shellFunctions = []string{
	`call() { curl -s -H 'X-Auth-Token: admin' -H 'X-Roles: admin,service' -H 'OpenStack-API-Version: placement 1.39' -H 'Content-Type: application/json' "$@"; }`,
	`show() { call "$URL$1"; }`,
	`send() { call -X "$1" "$URL$2" -d @- -o /dev/null -w '%{http_code}\n'; }`,
}

func newGuide(handler http.Handler) *docShell {
	return &docShell{handler: handler, variables: map[string]string{}}
}

// run executes the commands of a block and returns what they print.
func (g *docShell) run(block string) (string, error) {
	var printed strings.Builder
	lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
	for len(lines) > 0 {
		line := lines[0]
		lines = lines[1:]
		command, here := strings.CutSuffix(line, " <<END")
		body := ""
		if here {
			length := slices.Index(lines, "END")
			if length < 0 {
				return "", errors.New("here-document without END")
			}
			body = strings.Join(lines[:length], "\n") + "\n"
			lines = lines[length+1:]
		}
		output, err := g.execute(command, body)
		if err != nil {
			return "", err
		}
		printed.WriteString(output)
	}
	return printed.String(), nil
}

// execute runs one command.
func (g *docShell) execute(command, body string) (string, error) {
	if slices.Contains(shellFunctions, command) {
		return "", nil
	}
	if name, value, ok := strings.Cut(command, "="); ok && !strings.ContainsAny(name, ` "/$`) {
		g.variables[name] = value
		return "", nil
	}
	fields := strings.Fields(strings.ReplaceAll(g.expand(command), `"`, ""))
	switch {
	case len(fields) == 2 && fields[0] == "show":
		return g.request(http.MethodGet, fields[1], "").Body.String(), nil
	case len(fields) == 3 && fields[0] == "send":
		return fmt.Sprintln(g.request(fields[1], fields[2], body).Code), nil
	case len(fields) == 6 && slices.Equal(fields[:2], []string{"call", "-X"}) && slices.Equal(fields[4:], []string{"-d", "@-"}):
		return g.request(fields[2], strings.TrimPrefix(fields[3], tourURL), body).Body.String(), nil
	}
	return "", fmt.Errorf("docShell does not implement the command %q", command)
}

// expand replaces variables by their values.
func (g *docShell) expand(text string) string {
	return os.Expand(text, func(name string) string { return g.variables[name] })
}

// request does what the shell function call does.
func (g *docShell) request(method, path, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, strings.NewReader(g.expand(body)))
	for name, value := range map[string]string{
		"X-Auth-Token": "admin", "X-Roles": "admin,service",
		"OpenStack-API-Version": "placement 1.39", "Content-Type": "application/json",
	} {
		request.Header.Set(name, value)
	}
	answer := httptest.NewRecorder()
	g.handler.ServeHTTP(answer, request)
	return answer
}
