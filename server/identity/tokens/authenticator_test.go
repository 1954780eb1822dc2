package tokens

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/berthd/berth/server/identity/auth"
)

// added creates a token in a file.
func added(t testing.TB, path string, entry Entry) (Entry, string) {
	t.Helper()
	made, token, err := NewEntry(entry, time.Now())
	if err == nil {
		err = Add(t.Context(), path, made)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made, token
}

func opened(t testing.TB, path string) *Authenticator {
	t.Helper()
	a, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// asked authenticates a request with a token.
func asked(a *Authenticator, token string) (auth.Caller, error) {
	return a.Authenticate(&http.Request{Header: http.Header{"X-Auth-Token": {token}, "X-Roles": {"admin"}, "X_user_id": {"root"}}})
}

// reasonFor returns the reason of the 401 for a token; empty: it is valid.
func reasonFor(t testing.TB, a *Authenticator, token string) string {
	t.Helper()
	_, err := asked(a, token)
	if err == nil {
		return ""
	}
	refused := new(auth.UnauthenticatedError)
	if !errors.As(err, &refused) || refused.Challenge != `Bearer realm="berth", error="invalid_token"` {
		t.Errorf("error = %#v, want an invalid token", err)
	}
	return err.Error()
}

func TestAuth_TokensOfEachScope_YieldCaller(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	for _, c := range []struct {
		entry Entry
		want  auth.Caller
	}{
		{Entry{User: "ada", Project: "lab", Roles: []string{"member", "service"}, Expires: time.Now().Add(time.Hour)},
			auth.Caller{UserID: "ada", ProjectID: "lab", Roles: []string{"member", "service", "reader"}}},
		{Entry{User: "ada", System: true, Roles: []string{"Admin"}},
			auth.Caller{UserID: "ada", SystemScope: "all", Roles: []string{"Admin", "manager", "member", "reader"}}},
		{Entry{User: "ada", Domain: "d", Roles: []string{"reader"}},
			auth.Caller{UserID: "ada", DomainID: "d", Roles: []string{"reader"}}},
	} {
		entry, token := added(t, path, c.entry)
		c.want.Method, c.want.TokenID, c.want.Expires = auth.MethodTokens, entry.ID, entry.Expires
		if got, err := asked(opened(t, path), token); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("caller = %+v, %v; want %+v", got, err, c.want)
		}
	}
}

func TestAuth_TokenWithoutValidEntry_Returns401(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	entry, token := added(t, path, Entry{User: "ada", Project: "lab", Roles: []string{"reader"}, Expires: time.Now().Add(time.Hour)})
	a := opened(t, path)
	at := entry.Expires.Add(-time.Nanosecond)
	a.now = func() time.Time { return at }
	if reason := reasonFor(t, a, token); reason != "" {
		t.Errorf("before the expiry: %s", reason)
	}
	at = entry.Expires
	for _, c := range []struct{ token, want string }{
		{token, "the token " + entry.ID + " is expired"},
		{newToken(), "the token is not in the tokens file; it may be revoked"},
		{token[:len(token)-1], "the token does not have the form of a token of Berth"},
		{strings.ToUpper(token), "the token does not have the form of a token of Berth"},
		{"admin", "the token does not have the form of a token of Berth"},
	} {
		if got := reasonFor(t, a, c.token); got != c.want {
			t.Errorf("reason for %s = %q, want %q", c.token, got, c.want)
		}
	}
	if _, err := a.Authenticate(&http.Request{Header: http.Header{}}); err == nil || err.Error() != auth.MissingToken().Error() {
		t.Errorf("without a token: %v", err)
	}
	want := `# HELP berth_tokens_checks_total Number of requests by the result of the check of their token: valid, missing, malformed, unknown, or expired.
# TYPE berth_tokens_checks_total counter
berth_tokens_checks_total{result="expired"} 1
berth_tokens_checks_total{result="malformed"} 3
berth_tokens_checks_total{result="missing"} 1
berth_tokens_checks_total{result="unknown"} 1
berth_tokens_checks_total{result="valid"} 1
# HELP berth_tokens_file_current Whether the tokens are those of the tokens file: 0 if the file could not be loaded, so that previous tokens apply.
# TYPE berth_tokens_file_current gauge
berth_tokens_file_current 1
# HELP berth_tokens_file_tokens Number of tokens in the tokens file by state: valid or expired.
# TYPE berth_tokens_file_tokens gauge
berth_tokens_file_tokens{state="expired"} 1
berth_tokens_file_tokens{state="valid"} 0
`
	registry, page := prometheus.NewPedanticRegistry(), httptest.NewRecorder()
	registry.MustRegister(a)
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if got := page.Body.String(); got != want {
		t.Errorf("metrics:\n%s\nwant\n%s", got, want)
	}
}

// TestAuth_TokensFileBroken_KeepsPreviousTokens damages the file in several ways after it was loaded.
func TestAuth_TokensFileBroken_KeepsPreviousTokens(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"readable by others": func(path string) error { return os.Chmod(path, 0o644) },
		"not YAML":           func(path string) error { return os.WriteFile(path, []byte("tokens: ["), 0o600) },
		"empty":              func(path string) error { return os.Truncate(path, 0) },
		"too large":          func(path string) error { return os.Truncate(path, maxFile+1) },
		"missing":            os.Remove,
		"a directory": func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "tokens.yaml")
			_, token := added(t, path, Entry{User: "ada", Project: "lab", Roles: []string{"reader"}})
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			a := opened(t, path)
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			if changed, err := a.Refresh(); changed || err == nil || strings.Contains(err.Error(), token) {
				t.Errorf("Refresh = %t, %v; want an error", changed, err)
			}
			if reason := reasonFor(t, a, token); reason != "" || !a.stats.outdated.Load() {
				t.Errorf("token after the damage: %q; outdated = %t", reason, a.stats.outdated.Load())
			}
			if _, err := Open(path); err == nil {
				t.Error("Open has no error")
			}
			if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, content, 0o600)); err != nil {
				t.Fatal(err)
			}
			if changed, err := a.Refresh(); !changed || err != nil || a.stats.outdated.Load() {
				t.Errorf("Refresh after the repair = %t, %v; outdated = %t", changed, err, a.stats.outdated.Load())
			}
		})
	}
}

// TestAuth_TokensFileBackUnchanged_IsCurrent moves the file away and back.
func TestAuth_TokensFileBackUnchanged_IsCurrent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	added(t, path, Entry{User: "ada", Project: "lab", Roles: []string{"reader"}})
	a := opened(t, path)
	for _, c := range []struct {
		from, to string
		outdated bool
	}{{path, path + ".away", true}, {path + ".away", path, false}} {
		if err := os.Rename(c.from, c.to); err != nil {
			t.Fatal(err)
		}
		changed, err := a.Refresh()
		if changed || (err != nil) != c.outdated || a.stats.outdated.Load() != c.outdated {
			t.Errorf("after the move to %s: %t, %v, outdated = %t", c.to, changed, err, a.stats.outdated.Load())
		}
	}
}

// TestAuth_TokensFileBehindLink_ReloadedAfterSwap replaces a file as Kubernetes replaces the files of a Secret: the path
// is a link through another link, which is renamed.
func TestAuth_TokensFileBehindLink_ReloadedAfterSwap(t *testing.T) {
	t.Parallel()
	volume := t.TempDir()
	at := func(elements ...string) string { return filepath.Join(append([]string{volume}, elements...)...) }
	var made []string
	for _, version := range []string{"v1", "v2"} {
		if err := os.Mkdir(at(version), 0o700); err != nil {
			t.Fatal(err)
		}
		_, token := added(t, at(version, "tokens.yaml"), Entry{User: "ada", Project: "lab", Roles: []string{"reader"}})
		made = append(made, token)
	}
	if err := errors.Join(os.Symlink("v1", at("..data")), os.Symlink("..data/tokens.yaml", at("tokens.yaml"))); err != nil {
		t.Fatal(err)
	}
	a := opened(t, at("tokens.yaml"))
	if reasonFor(t, a, made[0]) != "" || reasonFor(t, a, made[1]) == "" {
		t.Error("the first version is not current")
	}
	if err := errors.Join(os.Symlink("v2", at("..data_tmp")), os.Rename(at("..data_tmp"), at("..data"))); err != nil {
		t.Fatal(err)
	}
	if changed, err := a.Refresh(); !changed || err != nil {
		t.Errorf("Refresh = %t, %v", changed, err)
	}
	if reasonFor(t, a, made[0]) == "" || reasonFor(t, a, made[1]) != "" {
		t.Error("the second version is not current")
	}
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.Buffer.Write(p)
}

// TestAuth_TokensFileReplacedUnderLoad_NoRequestFails adds and revokes tokens while requests with another token run.
func TestAuth_TokensFileReplacedUnderLoad_NoRequestFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	_, lasting := added(t, path, Entry{User: "ada", Project: "lab", Roles: []string{"reader"}})
	a := opened(t, path)
	ctx, stop := context.WithCancel(t.Context())
	var log lockedBuffer
	var running sync.WaitGroup
	running.Go(func() { a.Watch(ctx, time.Millisecond, slog.New(slog.NewTextHandler(&log, nil))) })
	for range 4 {
		running.Go(func() {
			for ctx.Err() == nil {
				if _, err := asked(a, lasting); err != nil {
					t.Errorf("the lasting token: %v", err)
					return
				}
			}
		})
	}
	until := func(what string, done func() bool) {
		for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("timeout: %s", what)
			}
		}
	}
	var revoked []string
	for range 20 {
		entry, token := added(t, path, Entry{User: "bob", Project: "lab", Roles: []string{"reader"}})
		until("the new token is valid", func() bool { _, err := asked(a, token); return err == nil })
		if err := Revoke(t.Context(), path, []string{entry.ID}); err != nil {
			t.Fatal(err)
		}
		until("the revoked token is invalid", func() bool { _, err := asked(a, token); return err != nil })
		revoked = append(revoked, token)
	}
	stop()
	running.Wait()
	if text := log.String(); !strings.Contains(text, `msg="reloaded the tokens file"`) || strings.Contains(text, "ERROR") {
		t.Errorf("log:\n%s", text)
	} else if slices.ContainsFunc(revoked, func(token string) bool { return strings.Contains(text, token) }) {
		t.Error("the log has a token")
	}
}

// TestAuth_TenThousandTokens_AllValid loads a large file, and finds each of its tokens.
func TestAuth_TenThousandTokens_AllValid(t *testing.T) {
	t.Parallel()
	path, made := manyTokens(t, 10_000)
	a := opened(t, path)
	for i, token := range made {
		if caller, err := asked(a, token); err != nil || caller.UserID != fmt.Sprintf("user-%d", i) {
			t.Fatalf("token %d: %+v, %v", i, caller, err)
		}
	}
}

// manyTokens writes a file with many tokens.
func manyTokens(t testing.TB, count int) (path string, made []string) {
	t.Helper()
	entries := make([]Entry, count)
	for i := range entries {
		entry, token, err := NewEntry(Entry{User: fmt.Sprintf("user-%d", i), Project: "lab", Roles: []string{"admin", "service"}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		entries[i], made = entry, append(made, token)
	}
	data, err := encode(entries)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, made
}

func BenchmarkAuthenticate(b *testing.B) {
	for _, count := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			path, made := manyTokens(b, count)
			a := opened(b, path)
			for b.Loop() {
				if _, err := asked(a, made[count/2]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
