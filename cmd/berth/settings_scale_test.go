package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestReplicasAreAListOfURLsWithAnyNumberOfHosts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                      nil,
		"postgres://a/berth":    {"postgres://a/berth"},
		"postgres://a,b:5433/x": {"postgres://a,b:5433/x"},
		"host=a,b dbname=berth": {"host=a,b dbname=berth"},
		" postgres://a/x , postgresql://b,c/x?sslmode=require,": {"postgres://a/x", "postgresql://b,c/x?sslmode=require"},
	} {
		settings, _, err := loaded(t, forServer, []string{"--replica-url", text}, nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if !slices.Equal(settings.ReplicaURLs, want) || settings.ReplicaWait != 20*time.Millisecond {
			t.Errorf("%q: got %q and %s", text, settings.ReplicaURLs, settings.ReplicaWait)
		}
	}
}

func TestPasswordsOfReplicasAreNeverShown(t *testing.T) {
	t.Parallel()
	settings, _, err := loaded(t, forServer, []string{"--replica-url", "postgres://u:hush@a/x,postgres://u:hush@b,c/x?password=hush"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if shown := settings.setting("replica-url").shown(); strings.Contains(shown, "hush") || !strings.Contains(shown, "b,c/x") {
		t.Errorf("got %s", shown)
	}
	if _, _, err = loaded(t, forServer, []string{"--replica-url", "postgres://u:hush@a:port/x"}, nil); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v", err)
	}
}

func TestSeveralHostsMeanTheOneThatTakesWrites(t *testing.T) {
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
