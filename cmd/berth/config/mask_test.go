package config

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/berthd/berth/cmd/berth/setting"
)

func TestSettings_ConnectionString_PasswordMasked(t *testing.T) {
	t.Parallel()
	const hidden = "(hidden, may contain a password)"
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
		if got := MaskPassword(connection); got != want {
			t.Errorf("MaskPassword(%q) = %q, want %q", connection, got, want)
		}
	}
}

func TestSettings_InvalidConnectionString_ErrorHidesPassword(t *testing.T) {
	t.Parallel()
	for _, connection := range []string{
		"postgres://u:hunter2/x@h/d", "postgres://u:%hunter2@h/d", "postgres://u@h:hunter2@h/d",
		"password='hunter2 host=h", "host=h port=x password=hunter2", "postgres://u:hunter2@h/d?sslmode=bogus", "u:hunter2@h/d",
		"mysql+pymysql://u:a/hunter2@h/d?charset=utf8", "postgresql+psycopg2://u:a/hunter2@h/d?sslmode=disable", "POSTGRES://u:a/hunter2@h/d?x=y",
	} {
		_, _, err := loaded(t, ForDatabase, []string{"--database-url", connection}, nil)
		if err == nil {
			t.Errorf("%q: error = nil, want an error", connection)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is in %q", err)
		}
	}
}

// For any password, escaped by the rules of either form, pgx must parse it and the masked text
// must not contain it.
func TestSettings_RandomPassword_AlwaysMasked(t *testing.T) {
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
			if masked := MaskPassword(connection); strings.Contains(masked, "hunter") || !strings.Contains(masked, setting.Mask) {
				t.Fatalf("%q is shown as %q", connection, masked)
			}
		}
	})
}

// For any text: if pgx finds a password, the masked text must not contain it.
func FuzzMaskPassword(f *testing.F) {
	for _, seed := range []string{
		"", "postgres://u:p@h/d", "postgres://u:p@x@h/d?password=q", "password='a b' host=h", "postgresql://?password=x",
		"host=h password=a password=b", "postgres://u:@h", "PASSWORD=x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, connection string) {
		config, err := pgx.ParseConfig(connection)
		// A short password may also occur elsewhere by chance; the test skips it.
		if err != nil || len(config.Password) < 6 || strings.Count(connection, config.Password) != 1 {
			return
		}
		if masked := MaskPassword(connection); strings.Contains(masked, config.Password) {
			t.Errorf("%q is shown as %q", connection, masked)
		}
	})
}
