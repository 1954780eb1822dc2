package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
)

func TestSettings_ConsoleKeyFile_ReadInThreeForms(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcd\xff\n")
	write := func(text string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // without the umask
			t.Fatal(err)
		}
		return path
	}
	for name, text := range map[string]string{
		"raw": string(key), "hex": hex.EncodeToString(key), "hex of openssl": hex.EncodeToString(key) + "\n", "upper case": strings.ToUpper(hex.EncodeToString(key)),
		"base64": base64.StdEncoding.EncodeToString(key) + "\n", "base64 without padding": base64.RawStdEncoding.EncodeToString(key), "base64url": base64.URLEncoding.EncodeToString(key),
	} {
		if got, err := readConsoleKey(write(text, 0o600)); err != nil || !bytes.Equal(got, key) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, c := range map[string]struct {
		path, want string
	}{
		"short":        {write("secret", 0o600), "has no key of 32 bytes"},
		"31 bytes":     {write(hex.EncodeToString(key[:31]), 0o600), "openssl rand -hex 32"},
		"33 bytes":     {write(hex.EncodeToString(append(key, 1)), 0o600), "has no key of 32 bytes"},
		"empty":        {write("", 0o600), "has no key of 32 bytes"},
		"others read":  {write(string(key), 0o644), "has the mode 0644, but only its owner may read and write it; run: chmod 600"},
		"no file":      {filepath.Join(t.TempDir(), "key"), "cannot open the key file of the console"},
		"no such kind": {t.TempDir(), "is not a regular file"},
	} {
		got, err := readConsoleKey(c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || got != nil {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestSettings_ConsoleAuto_OnlyWhereNoOtherHostReaches(t *testing.T) {
	t.Parallel()
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	for name, c := range map[string]struct {
		at      []net.Addr
		proxies bool
		want    bool
	}{
		"loopback":            {[]net.Addr{loopback, &net.TCPAddr{IP: net.IPv6loopback}}, false, true},
		"all addresses":       {[]net.Addr{&net.TCPAddr{IP: net.IPv4zero}}, false, false},
		"one other":           {[]net.Addr{loopback, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}}, false, false},
		"a Unix socket":       {[]net.Addr{&net.UnixAddr{Name: "/run/x"}}, false, false},
		"loopback of a proxy": {[]net.Addr{loopback}, true, false},
	} {
		s := &service{Settings: &config.Settings{}}
		s.Settings.Console, s.Settings.ProxyHeaders = config.ConsoleAuto, c.proxies
		for _, at := range c.at {
			s.doors = append(s.doors, boundListener{Listener: addressOnly{at}})
		}
		if got := s.hasConsole(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		s.Settings.Console = config.ConsoleOff
		if s.hasConsole() || s.consoleAddress() != "" {
			t.Errorf("%s: on with --console=off", name)
		}
		s.Settings.Console, s.Settings.ConsoleURL, s.Settings.BasePath = config.ConsoleOn, "https://berth.example", "/placement"
		if got := s.consoleAddress(); !s.hasConsole() || got != "https://berth.example/placement/console" {
			t.Errorf("%s: the address is %q", name, got)
		}
	}
}

func TestSettings_ConsoleNames_ReadAndReloaded(t *testing.T) {
	t.Parallel()
	log := &bytes.Buffer{}
	s := &service{Settings: &config.Settings{}, log: slog.New(slog.NewTextHandler(log, nil))}
	if aggregates, shapes, err := s.consoleNames(); err != nil || aggregates != nil || shapes != nil {
		t.Errorf("without files: %v, %v, %v", aggregates, shapes, err)
	}
	path := filepath.Join(t.TempDir(), "names.yaml")
	s.Settings.AggregateNames = path
	if _, _, err := s.consoleNames(); err == nil || !strings.Contains(err.Error(), "--aggregate-names: open "+path) {
		t.Errorf("without the file: %v", err)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a9900000-0000-4000-8000-000000000001: rack 1\n")
	aggregates, _, err := s.consoleNames()
	if err != nil || len(aggregates) != 1 {
		t.Errorf("%v, %v", aggregates, err)
	}
	if s.console, err = console.New(console.Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.console.Close()
	s.reload()
	write("\n\nrack: 1\n")
	s.reload()
	if !strings.Contains(log.String(), "keeping the previous ones") || !strings.Contains(log.String(), path+": line 3: ") {
		t.Errorf("log: %s", log)
	}
}

func TestAuth_ConsoleIdentity_OfEachError(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"unknown token":       {auth.InvalidToken("the token abc is unknown"), "The service does not accept this token: it is wrong, has expired, or is for other requests only."},
		"no role":             {&auth.DeniedError{Detail: "The token has no roles in the claim \"roles\"."}, "The token has no roles in the claim \"roles\"."},
		"the issuer is away":  {&auth.Unavailable{Service: "OpenID Connect issuer", Err: errors.New("dial 192.0.2.1")}, "The OpenID Connect issuer does not answer. Try again."},
		"Keystone is away":    {&auth.Unavailable{Err: errors.New("dial 192.0.2.1")}, "The Keystone service does not answer. Try again."},
		"anything else fails": {errors.New("dial 192.0.2.1"), "The Keystone service does not answer. Try again."},
	} {
		got, err := identify(func(*http.Request) (auth.Caller, error) { return auth.Caller{UserID: "u"}, c.err }, nil)
		if err == nil || err.Error() != c.want || got.User != "" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	got, err := identify(func(*http.Request) (auth.Caller, error) {
		return auth.Caller{UserID: "u", ProjectID: "p", Roles: []string{"r"}, SystemScope: "all", Expires: until}, nil
	}, nil)
	if err != nil || got.User != "u" || got.Project != "p" || !got.System || !got.Expires.Equal(until) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPolicy_LinksOfConsole_FollowRules(t *testing.T) {
	t.Parallel()
	s := &service{policy: policy.New(policy.Defaults())}
	for rule, want := range map[string][3]bool{"berth:history:list": {true, false, false}, "placement:usages": {true, true, false}} {
		for i, who := range []console.Identity{{User: "a", Roles: []string{"admin"}}, {User: "b", Project: "p", Roles: []string{"reader"}}, {User: "c", Project: "p", Roles: []string{"admin"}, System: true}} {
			if got := s.permits(who, rule); got != want[i] {
				t.Errorf("%s of %+v: %t, want %t", rule, who, got, want[i])
			}
		}
	}
}
