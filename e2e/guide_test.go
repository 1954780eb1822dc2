package e2e

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/store"
)

// handler is the service with the settings that `berth serve` has by itself.
func handler(t *testing.T, databaseURL string) http.Handler {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Options{URL: databaseURL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	if err := opened.SyncStandardNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	return server.New(server.Options{
		Store: opened, Log: slog.New(slog.DiscardHandler), EnforceNewDefaults: true, MaxBodyBytes: 1 << 20, MaxCandidates: -1,
	})
}

// guide understands as much of the shell and of curl as the tour uses, so that
// the tour is tested on every machine that has Go. The same blocks go through a
// real shell and a real curl under the build tag client.
type guide struct {
	handler   http.Handler
	variables map[string]string
}

// tourURL is where the README's reader has the service.
const tourURL = "http://127.0.0.1:8778"

// words are the lines with which the tour defines its short words. The guide
// does what they say; a change here wants a change there.
var words = []string{
	`call() { curl -s -H 'X-Auth-Token: admin' -H 'X-Roles: admin,service' -H 'OpenStack-API-Version: placement 1.39' -H 'Content-Type: application/json' "$@"; }`,
	`show() { call "$URL$1"; }`,
	`send() { call -X "$1" "$URL$2" -d @- -o /dev/null -w '%{http_code}\n'; }`,
}

func newGuide(handler http.Handler) *guide {
	return &guide{handler: handler, variables: map[string]string{}}
}

// run executes the commands of a block and returns what they print.
func (g *guide) run(block string) (string, error) {
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
				return "", errors.New("a document without END")
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
func (g *guide) execute(command, body string) (string, error) {
	if slices.Contains(words, command) {
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
	return "", fmt.Errorf("the guide does not know the command %q", command)
}

// expand puts the values of variables in their places.
func (g *guide) expand(text string) string {
	return os.Expand(text, func(name string) string { return g.variables[name] })
}

// request does what the word call does.
func (g *guide) request(method, path, body string) *httptest.ResponseRecorder {
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
