package badinput

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/data/postgres"
)

// newConsole returns a service with a console. Without the settings it does not authenticate callers.
func newConsole(t *testing.T, settings console.Options) *tested {
	t.Helper()
	return newTested(t, func(_ *postgres.Options, options *server.Options) {
		settings.Log, settings.CardWait, options.AccessLog = options.Log, time.Minute, true
		options.Console = console.Mount(settings)
	})
}

// visit sends a request to the console, with secrets in its headers, and returns the status, and what is wrong with the
// response. Each second one is that of a script.
func (s *tested) visit(method, target, form string) (status int, err error) {
	m := message{method: method, target: target, body: []byte(form), headers: [][2]string{
		{"Content-Type", "application/x-www-form-urlencoded"}, {"X-Auth-Token", tokenOfUser}, {"Authorization", "Bearer " + otherSecret},
		{"Cookie", "berth_console=" + otherSecret + "; berth_theme=" + otherSecret},
	}}
	if len(target)%2 == 0 {
		m.headers = append(m.headers, [2]string{"HX-Request", "true"})
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(m.wire())))
	if err != nil {
		return 0, nil // net/http rejects it before a handler
	}
	r.RemoteAddr = "192.0.2.1:1"
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the handler aborted the response: %v", value)
		}
	}()
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, r.WithContext(s.t.Context()))
	return answer.Code, judgePage(answer)
}

// visitAll sends requests at the same time, reports what is wrong, and checks the log.
func (s *tested) visitAll(method string, targets [][2]string) {
	s.t.Helper()
	var sending sync.WaitGroup
	failures := &tally{}
	for number := range senders {
		sending.Go(func() {
			for i := number; i < len(targets); i += senders {
				if _, err := s.visit(method, targets[i][0], targets[i][1]); err != nil && failures.fails() {
					s.t.Errorf("%s %.300q with %.300q: %v", method, targets[i][0], targets[i][1], err)
				}
			}
		})
	}
	sending.Wait()
	s.t.Logf("%d requests", len(targets))
	for _, text := range []string{"SECRET", "panic", "level=ERROR"} {
		if found := s.log.with(text); found != "" {
			s.t.Errorf("the log contains %q: %.2000s", text, found)
		}
	}
}

// TestErrors_ConsoleWithHostileAddresses_AreSafe sends hostile values in each parameter and each variable of the paths of
// all pages. Each page is there without them.
func TestErrors_ConsoleWithHostileAddresses_AreSafe(t *testing.T) {
	t.Parallel()
	s := newConsole(t, console.Options{})
	dbtest.TurnRecordOn(t, s.db) // so that the history has events
	if failure := s.furnish(); failure != "" {
		t.Fatal(failure)
	}
	for _, page := range consoleAddresses {
		status, err := s.visit(http.MethodGet, known(page.path), "")
		if isThere := !strings.HasSuffix(page.path, "/nothing") && !strings.Contains(page.path, "/assets/"); err != nil || (status < http.StatusBadRequest) != isThere {
			t.Errorf("%s: status = %d, %v", page.path, status, err)
		}
	}
	s.visitAll(http.MethodGet, hostileAddresses())
}

// TestErrors_ConsoleWithHostileForms_AreSafe posts hostile values in each field.
func TestErrors_ConsoleWithHostileForms_AreSafe(t *testing.T) {
	t.Parallel()
	invalid := console.InvalidCredentials("The service does not accept this token.")
	rejects := console.Options{
		Identify: func(*http.Request) (console.Identity, error) {
			return console.Identity{}, invalid
		},
		Keystone: func(context.Context, console.Credentials) (console.Grant, error) { return console.Grant{}, invalid },
	}
	for name, settings := range map[string]console.Options{"noauth2": {}, "keystone": rejects} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newConsole(t, settings)
			if failure := s.furnish(); failure != "" {
				t.Fatal(failure)
			}
			s.visitAll(http.MethodPost, hostileForms())
		})
	}
}

// TestErrors_ConsoleParameters_AllHaveHostileValues checks that the requests have each parameter and field that the console
// reads.
func TestErrors_ConsoleParameters_AllHaveHostileValues(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../server/console/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	reads := regexp.MustCompile(`(?:\.(?:query|entry|choices|figure|providerNamed|Get|Has)\(|input\(Input\{Name: )"([a-z_]+)"`)
	var known []string
	for _, one := range slices.Concat(consoleAddresses, consoleForms) {
		known = append(known, strings.Fields(one.fields)...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range reads.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasSuffix(file, "_test.go") && !slices.Contains(known, found[1]) {
				t.Errorf("%s reads %q, which no request has", filepath.Base(file), found[1])
			}
		}
	}
}
