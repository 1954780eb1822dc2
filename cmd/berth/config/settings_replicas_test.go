package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSettings_ReplicaURLs_ParsedAsList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                      nil,
		"postgres://a/berth":    {"postgres://a/berth"},
		"postgres://a,b:5433/x": {"postgres://a,b:5433/x"},
		"host=a,b dbname=berth": {"host=a,b dbname=berth"},
		" postgres://a/x , postgresql://b,c/x?sslmode=require,": {"postgres://a/x", "postgresql://b,c/x?sslmode=require"},
	} {
		settings, _, err := loaded(t, ForServer, []string{"--replica-url", text}, nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if !slices.Equal(settings.ReplicaURLs, want) || settings.ReplicaWait != 20*time.Millisecond {
			t.Errorf("%q: got %q and %s", text, settings.ReplicaURLs, settings.ReplicaWait)
		}
	}
}

func TestSettings_ReplicaPasswords_Masked(t *testing.T) {
	t.Parallel()
	settings, _, err := loaded(t, ForServer, []string{"--replica-url", "postgres://u:hush@a/x,postgres://u:hush@b,c/x?password=hush"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if shown := settings.Row("replica-url").Shown(); strings.Contains(shown, "hush") || !strings.Contains(shown, "b,c/x") {
		t.Errorf("got %s", shown)
	}
	if _, _, err = loaded(t, ForServer, []string{"--replica-url", "postgres://u:hush@a:port/x"}, nil); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v", err)
	}
}
