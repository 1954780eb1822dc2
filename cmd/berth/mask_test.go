package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"
)

func TestPasswordsAreMasked(t *testing.T) {
	t.Parallel()
	const hidden = "(not shown, it may hold a password)"
	for connection, want := range map[string]string{
		"":                                 "",
		"postgres://h/d":                   "postgres://h/d",
		"postgres://u@h/d?sslmode=disable": "postgres://u@h/d?sslmode=disable",
		"postgres://u:p@h:5432/d":          "postgres://u:***@h:5432/d",
		"postgres://u:p%40ss@h/d?connect_timeout=3":     "postgres://u:***@h/d?connect_timeout=3",
		"postgres://u:p?ss@h/d":                         "postgres://u:***@h/d",
		"postgresql:///d?host=/run/x&password=p&user=u": "postgresql:///d?host=/run/x&password=***&user=u",
		"postgres://u@h/d?pass%77ord=p":                 "postgres://u@h/d?pass%77ord=***",
		"host=h user=u password=p dbname=d":             "host=h user=u password=*** dbname=d",
		"host=h password = 'p q\\' r' dbname=d":         "host=h password = *** dbname=d",
		`password=a\ b host=h`:                          "password=*** host=h",
		"sslpassword=p host=h":                          "sslpassword=*** host=h",
		"postgres://u:p/ss@h/d":                         hidden,
		"postgres://u:p%zz@h/d":                         hidden,
		"u:p@h":                                         hidden,
		"host=h port=many":                              "host=h port=many",
	} {
		if got := maskPassword(connection); got != want {
			t.Errorf("%q is shown as %q, want %q", connection, got, want)
		}
	}
}

func TestAMistakenConnectionStringShowsNoPassword(t *testing.T) {
	t.Parallel()
	for _, connection := range []string{
		"postgres://u:hunter2/x@h/d", "postgres://u:%hunter2@h/d", "postgres://u@h:hunter2@h/d",
		"password='hunter2 host=h", "host=h port=x password=hunter2", "postgres://u:hunter2@h/d?sslmode=bogus", "u:hunter2@h/d",
		"mysql+pymysql://u:a/hunter2@h/d?charset=utf8", "postgresql+psycopg2://u:a/hunter2@h/d?sslmode=disable", "POSTGRES://u:a/hunter2@h/d?x=y",
	} {
		_, _, err := loaded(t, forDatabase, []string{"--database-url", connection}, nil)
		if err == nil {
			t.Errorf("%q was accepted", connection)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is in %q", err)
		}
	}
}

// Whatever stands in a password, escaped by either form's own rules, pgx must
// read it back and the masked text must not hold it.
func TestNoPasswordSurvivesMasking(t *testing.T) {
	t.Parallel()
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	rapid.Check(t, func(t *rapid.T) {
		password := "hunter" + rapid.StringMatching(`[ -~]{0,12}`).Draw(t, "password") + "2"
		for _, connection := range []string{
			(&url.URL{Scheme: "postgres", User: url.UserPassword("u", password), Host: "h", Path: "/d"}).String(),
			"postgres://u@h/d?password=" + strings.ReplaceAll(url.QueryEscape(password), "+", "%20"),
			"host=h password='" + quote.Replace(password) + "' dbname=d",
		} {
			config, err := pgx.ParseConfig(connection)
			if err != nil || config.Password != password {
				t.Fatalf("%q does not hold the password: %v", connection, err)
			}
			if masked := maskPassword(connection); strings.Contains(masked, "hunter") || !strings.Contains(masked, mask) {
				t.Fatalf("%q is shown as %q", connection, masked)
			}
		}
	})
}

// Any text at all: where pgx finds a password, the masked text must not show it.
func FuzzMaskPassword(f *testing.F) {
	for _, seed := range []string{
		"", "postgres://u:p@h/d", "postgres://u:p@x@h/d?password=q", "password='a b' host=h", "postgresql://?password=x",
		"host=h password=a password=b", "postgres://u:@h", "PASSWORD=x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, connection string) {
		config, err := pgx.ParseConfig(connection)
		// A short password also occurs elsewhere by chance; then nothing is proved.
		if err != nil || len(config.Password) < 6 || strings.Count(connection, config.Password) != 1 {
			return
		}
		if masked := maskPassword(connection); strings.Contains(masked, config.Password) {
			t.Errorf("%q is shown as %q", connection, masked)
		}
	})
}
