package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a file system with installations of PostgreSQL. The content of each program is its version.
func machine(t *testing.T, installed map[string]string) searcher {
	t.Helper()
	root := t.TempDir()
	for dir, version := range installed {
		place(t, filepath.Join(root, dir, "postgres"), version, 0o755)
		place(t, filepath.Join(root, dir, "initdb"), "", 0o755)
	}
	return searcher{
		path:  []string{filepath.Join(root, "path")},
		globs: []string{filepath.Join(root, "lib/*/bin"), filepath.Join(root, "local/bin")},
		version: func(postgres string) (int, error) {
			text, err := os.ReadFile(postgres)
			if err != nil {
				return 0, err
			}
			return parseMajor("postgres (PostgreSQL) " + string(text))
		},
		bindir: func(pgConfig string) (string, error) {
			text, err := os.ReadFile(pgConfig)
			return filepath.Join(root, string(text)), err
		},
	}
}

func place(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestCluster_FindBinaries_PrefersNewestVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		installed map[string]string
		major     int
		want      string
		wantMajor int
	}{
		"the newest of several":                {map[string]string{"lib/9/bin": "9.6.1", "lib/15/bin": "15.1", "lib/17/bin": "17beta2"}, 0, "lib/17/bin", 17},
		"the version asked for":                {map[string]string{"lib/15/bin": "15.1", "lib/17/bin": "17.0"}, 15, "lib/15/bin", 15},
		"the PATH before other places":         {map[string]string{"lib/15/bin": "15.1", "path": "15.2"}, 0, "path", 15},
		"a newer version outside of the PATH":  {map[string]string{"path": "15.2", "local/bin": "16.0"}, 0, "local/bin", 16},
		"the directory of pg_config":           {map[string]string{"elsewhere": "16.3"}, 0, "elsewhere", 16},
		"a program that is not PostgreSQL":     {map[string]string{"path": "one", "lib/15/bin": "15.1"}, 0, "lib/15/bin", 15},
		"the same version found in two places": {map[string]string{"lib/a/bin": "15.1", "lib/b/bin": "15.1"}, 0, "lib/a/bin", 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := machine(t, c.installed)
			root := filepath.Dir(s.path[0])
			place(t, filepath.Join(s.path[0], "pg_config"), "elsewhere", 0o755)
			got, err := s.find(c.major)
			want := Binaries{Dir: filepath.Join(root, c.want), Major: c.wantMajor}
			if err != nil || got != want {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		})
	}
}

func TestCluster_NoBinaries_ErrorNamesPackage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		installed map[string]string
		major     int
		want      string
	}{
		"no installation":              {nil, 0, "postgresql"},
		"too old":                      {map[string]string{"lib/13/bin": "13.9"}, 0, "14 or newer"},
		"another version is installed": {map[string]string{"lib/17/bin": "17.1"}, 16, "postgresql-16"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := machine(t, c.installed).find(c.major)
			if !errors.Is(err, ErrNoPostgres) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a sentence with %q", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is more than one sentence", err)
			}
		})
	}
}

func TestCluster_IncompleteBinaries_NotFound(t *testing.T) {
	t.Parallel()
	s := machine(t, nil)
	place(t, filepath.Join(s.path[0], "postgres"), "15.1", 0o755)
	place(t, filepath.Join(s.path[0], "initdb"), "", 0o644)
	if got, err := s.find(0); !errors.Is(err, ErrNoPostgres) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestCluster_FindBinaries_FollowsSymlinks(t *testing.T) {
	t.Parallel()
	s := machine(t, map[string]string{"opt/pg": "15.1"})
	installation := filepath.Join(filepath.Dir(s.path[0]), "opt/pg")
	if err := os.Mkdir(s.path[0], 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(installation, "postgres"), filepath.Join(s.path[0], "postgres")); err != nil {
		t.Fatal(err)
	}
	got, err := s.find(0)
	if want := (Binaries{Dir: installation, Major: 15}); err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestCluster_SeveralDataDirs_HighestVersionSelected(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	if dir, err := newestCluster(filepath.Join(base, "absent")); dir != "" || err != nil {
		t.Errorf("got %q, %v", dir, err)
	}
	for dir, version := range map[string]string{"pg9": "9", "pg15": "15", "pg16": "16", "backup": "18"} {
		place(t, filepath.Join(base, dir, "data", "PG_VERSION"), version+"\n", 0o600)
	}
	place(t, filepath.Join(base, "pg19", "postgres.log"), "not initialized", 0o600)
	dir, err := newestCluster(base)
	if want := filepath.Join(base, "pg16"); dir != want || err != nil {
		t.Errorf("got %q, %v, want %q", dir, err, want)
	}
}

func TestCluster_VersionLine_MajorParsed(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 18beta1\n":                        18,
		"postgres (PostgreSQL) 9.6.24\n":                         9,
		"postgres (EnterpriseDB) 15\n":                           0,
		"":                                                       0,
	} {
		got, err := parseMajor(line)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: got %d, %v, want %d", line, got, err, want)
		}
	}
}

func FuzzParseMajor(f *testing.F) {
	f.Add("postgres (PostgreSQL) 15.14 (Debian)")
	f.Add("(PostgreSQL) ")
	f.Add("(PostgreSQL) 99999999999999999999")
	f.Fuzz(func(t *testing.T, line string) {
		if major, err := parseMajor(line); err == nil && major < 0 {
			t.Errorf("%q: %d", line, major)
		}
	})
}

func FuzzParsePIDFile(f *testing.F) {
	f.Add("4711\n/data\n1700000000\n5432\n/run/berth-1\n\n  1 2\nready\n")
	f.Add("-1\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		content, err := parsePIDFile(text)
		// A number below one would stand for a group of processes, or for all of them.
		if err == nil && content.pid < 1 {
			t.Errorf("%q: pid %d", text, content.pid)
		}
	})
}

func FuzzParseStat(f *testing.F) {
	f.Add("4711 (postgres) S 1 4711 4711 0")
	f.Add("1 (a) b) c) Z 0")
	f.Add("1 )(")
	f.Fuzz(func(t *testing.T, text string) {
		name, state := parseStat(text)
		if !strings.Contains(text, name) || !strings.Contains(text, state) {
			t.Errorf("%q: %q, %q", text, name, state)
		}
	})
}

func TestCluster_ProcStat_LastParenthesisEndsName(t *testing.T) {
	t.Parallel()
	if name, state := parseStat("1 (a) b) Z 0"); name != "a) b" || state != "Z" {
		t.Errorf("got %q, %q", name, state)
	}
}

func TestCluster_ConnectionValues_Quoted(t *testing.T) {
	t.Parallel()
	want := "postgres:///a%20b?host=%2Frun%2Fx+y&port=5432&user=berth"
	if got := serverURL("/run/x y", "5432", "a b"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for value, want := range map[string]string{"/run/x": "/run/x", `it's \`: `'it\'s \\'`, "": "''"} {
		if got := quoteConnValue(value); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
}

func TestSettings_BinDir_UsesOnlyThatDirectory(t *testing.T) {
	t.Parallel()
	// majorOf runs the program, so these are executable.
	installation := func(version string) string {
		dir := t.TempDir()
		place(t, filepath.Join(dir, "postgres"), "#!/bin/sh\necho 'postgres (PostgreSQL) "+version+"'\n", 0o755)
		place(t, filepath.Join(dir, "initdb"), "", 0o755)
		return dir
	}
	supported := installation("18.4")
	if got, err := BinariesIn(supported); err != nil || got != (Binaries{Dir: supported, Major: 18}) {
		t.Errorf("got %v, %v, want version 18 in %s", got, err, supported)
	}
	for name, c := range map[string]struct{ dir, want string }{
		"too old": {installation("13.9"), "14 or newer"},
		"empty":   {t.TempDir(), "postgres and initdb"},
	} {
		if _, err := BinariesIn(c.dir); !errors.Is(err, ErrNoPostgres) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
	if _, err := (Options{BinDir: supported}).binaries(17); !errors.Is(err, ErrNoPostgres) || !strings.Contains(err.Error(), "17") {
		t.Errorf("data of version 17: got %v, want an error that names version 17", err)
	}
}
