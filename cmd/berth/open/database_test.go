package open

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestSettings_SeveralHosts_SelectReadWriteServer(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://a/berth":                                "postgres://a/berth",
		"postgres://a/berth?sslmode=prefer":                 "postgres://a/berth?sslmode=prefer",
		"host=/tmp dbname=berth":                            "host=/tmp dbname=berth",
		"postgres://a,b/berth":                              "postgres://a,b/berth?target_session_attrs=read-write&connect_timeout=5",
		"postgres://u:p%2C@a:1,b:2/berth?sslmode=disable":   "postgres://u:p%2C@a:1,b:2/berth?sslmode=disable&target_session_attrs=read-write&connect_timeout=5",
		"postgres://a,b/berth?target_session_attrs=primary": "postgres://a,b/berth?target_session_attrs=primary&connect_timeout=5",
		"postgres://a,b/berth?connect_timeout=2":            "postgres://a,b/berth?connect_timeout=2&target_session_attrs=read-write",
		"postgres:///berth?host=a,b":                        "postgres:///berth?host=a,b&target_session_attrs=read-write&connect_timeout=5",
		"host=a,b dbname=berth":                             "host=a,b dbname=berth target_session_attrs=read-write connect_timeout=5",
		"postgres://a,b/berth?target_session_attrs=any":     "postgres://a,b/berth?target_session_attrs=any&connect_timeout=5",
	} {
		got := followingPrimary(url)
		if got != want {
			t.Errorf("%s: got %s", url, got)
		}
		if _, err := pgx.ParseConfig(got); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}
