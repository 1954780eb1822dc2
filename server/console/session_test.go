package console

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func newTestSealer(t testing.TB, key []byte) *sealer {
	t.Helper()
	made, err := newSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestAuth_ConsoleCookie_OnlyWithItsKey(t *testing.T) {
	t.Parallel()
	one, other := newTestSealer(t, bytes.Repeat([]byte{1}, 32)), newTestSealer(t, bytes.Repeat([]byte{2}, 32))
	plain := &session{Token: "t", User: "ada", Project: "lab", Roles: []string{"reader"}, System: true, Expires: soon().Truncate(time.Second).Local()}
	text := one.seal(cookieName, plain)
	if got, err := newTestSealer(t, bytes.Repeat([]byte{1}, 32)).open(cookieName, text, time.Now()); err != nil || !got.Expires.Equal(plain.Expires) || !reflect.DeepEqual(got, &session{plain.Token, plain.User, plain.Project, plain.Roles, plain.System, got.Expires}) {
		t.Errorf("with the same key: %+v, %v", got, err)
	}
	if strings.Contains(text, "ada") || one.seal(cookieName, plain) == text {
		t.Error("the cookie is readable, or the same session gives the same cookie twice")
	}
	for name, opened := range map[string]func() (*session, error){
		"another key":      func() (*session, error) { return other.open(cookieName, text, time.Now()) },
		"a random key":     func() (*session, error) { return newTestSealer(t, nil).open(cookieName, text, time.Now()) },
		"another purpose":  func() (*session, error) { return one.open(withProject, text, time.Now()) },
		"a longer text":    func() (*session, error) { return one.open(cookieName, text+"AA", time.Now()) },
		"nothing":          func() (*session, error) { return one.open(cookieName, "", time.Now()) },
		"other characters": func() (*session, error) { return one.open(cookieName, "<script>", time.Now()) },
		"a session in JSON": func() (*session, error) {
			return one.open(cookieName, base64.RawURLEncoding.EncodeToString([]byte(`{"u":"admin"}`)), time.Now())
		},
	} {
		if got, err := opened(); err != errForeignCookie || got != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := one.open(cookieName, text, plain.Expires); err != errEnded || got != nil {
		t.Errorf("after its end: %+v, %v", got, err)
	}
	for i := range text {
		if got, err := one.open(cookieName, text[:i], time.Now()); err == nil {
			t.Fatalf("truncated to %d bytes: %+v", i, got)
		}
		changed := []byte(text)
		changed[i] ^= 1
		if got, err := one.open(cookieName, string(changed), time.Now()); err == nil && i < len(text)-1 {
			t.Fatalf("changed at %d: %+v", i, got)
		}
	}
}

func TestSettings_ConsoleKey_Has32Bytes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 16, 31, 33, 64} {
		if _, err := newSealer(make([]byte, size)); err == nil {
			t.Errorf("a key of %d bytes is accepted", size)
		}
	}
}

// A cookie that no server of this key sealed leads to the sign-in page, or with noauth2 to the first persona.
func TestAuth_ConsoleInvalidCookies_SignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	foreign := newTestSealer(t, nil)
	valid := s.c.sealer.seal(cookieName, &session{Token: goodToken, User: "ada", Expires: soon()})
	for name, c := range map[string]struct {
		value   string
		foreign bool
	}{
		"forged":                    {"admin", true},
		"foreign":                   {foreign.seal(cookieName, &session{Token: goodToken, User: "ada", Expires: soon()}), true},
		"truncated":                 {valid[:len(valid)/2], true},
		"old":                       {s.c.sealer.seal(cookieName, &session{Token: goodToken, User: "ada", Expires: time.Now().Add(-time.Second)}), false},
		"of a trusting server":      {s.c.sealer.seal(cookieName, personas[0].session()), false},
		"a choice, not a session":   {s.c.sealer.seal(withProject, &session{Token: goodToken, User: "ada", Expires: soon()}), true},
		"with quotes and semicolon": {`"a;b`, false},
	} {
		w := s.send(http.MethodGet, "/console/probe", nil, "Cookie", cookieName+"="+c.value)
		wantStatus(t, w, http.StatusUnauthorized)
		if got := strings.Contains(w.Body.String(), "--console-key-file"); got != c.foreign {
			t.Errorf("%s: says that another server made it: %v, want %v", name, got, c.foreign)
		}
		if strings.Contains(w.Body.String(), "no user") {
			t.Errorf("%s: the page shows a user", name)
		}
	}
	wantStatus(t, s.send(http.MethodGet, "/console/probe", nil, "Cookie", cookieName+"="+valid), http.StatusOK)
	trusting := newSite(t, noauth2, nil)
	token := trusting.c.sealer.seal(cookieName, &session{Token: goodToken, User: "ada", Expires: soon()})
	for _, value := range []string{"forged", token} {
		wantText(t, trusting.send(http.MethodGet, "/console/who", nil, "Cookie", cookieName+"="+value), "admin, service")
	}
}

func BenchmarkConsoleSeal(b *testing.B) {
	sealing := newTestSealer(b, nil)
	plain := &session{Token: strings.Repeat("t", 184), User: strings.Repeat("u", 32), Project: strings.Repeat("p", 32), Roles: []string{"admin", "member", "reader"}, Expires: soon()}
	text := sealing.seal(cookieName, plain)
	b.Run("seal", func(b *testing.B) {
		for b.Loop() {
			sealing.seal(cookieName, plain)
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := sealing.open(cookieName, text, plain.Expires.Add(-time.Minute)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func FuzzConsoleCookie(f *testing.F) {
	sealing := newTestSealer(f, bytes.Repeat([]byte{7}, 32))
	good := sealing.seal(cookieName, &session{Token: "t", User: "ada", Expires: time.Unix(1<<33, 0)})
	for _, seed := range []string{"", "AAAA", good[:40], good, "=", "ä", sealing.seal(withProject, &session{User: "x"})} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if found, err := sealing.open(cookieName, text, time.Now()); err == nil && (found.User != "ada" || found.Token != "t") {
			t.Errorf("open(%q) = %+v", text, found)
		}
	})
}
