package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// MinimumMajor is the oldest supported major version of PostgreSQL.
const MinimumMajor = 14

// ErrNoPostgres is in the chain of every error that reports that no suitable PostgreSQL server is installed; the text
// of that error states what to install.
var ErrNoPostgres = errors.New("PostgreSQL server programs not found")

// Binaries is one installation of the PostgreSQL server.
type Binaries struct {
	// Dir contains postgres, initdb and usually pg_dump and psql.
	Dir string
	// Major is the major version, such as 15.
	Major int
}

// Path returns the full path of one program of the installation.
func (b Binaries) Path(program string) string { return filepath.Join(b.Dir, program) }

// Find searches server programs of one major version, or of the newest one if major is 0: in the PATH, in the directory
// that pg_config prints, and in the usual directories of packages and of builds from source.
func Find(major int) (Binaries, error) {
	return searcher{
		path:    filepath.SplitList(os.Getenv("PATH")),
		globs:   defaultBinDirs,
		version: majorOf,
		bindir:  configuredBindir,
	}.find(major)
}

// BinariesIn returns the server programs in one directory, which must contain postgres and initdb of a supported
// version. It searches no other directory.
func BinariesIn(dir string) (Binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Binaries{}, err
	}
	if !complete(dir) {
		return Binaries{}, fmt.Errorf("%w: %s does not contain the executables postgres and initdb; specify the bin directory of an installation",
			ErrNoPostgres, dir)
	}
	major, err := majorOf(filepath.Join(dir, "postgres"))
	if err != nil {
		return Binaries{}, err
	}
	if major < MinimumMajor {
		return Binaries{}, fmt.Errorf("%w: %s has version %d; use version %d or newer", ErrNoPostgres, dir, major, MinimumMajor)
	}
	return Binaries{Dir: dir, Major: major}, nil
}

// defaultBinDirs are the directories of the server programs in packages, which are often not in the PATH: Debian, PGDG
// for Red Hat, Homebrew on both processors, Alpine, Arch, FreeBSD, Postgres.app and plain `make install`.
var defaultBinDirs = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/usr/libexec/postgresql*",
	"/usr/lib/postgresql*/bin",
	"/opt/local/lib/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/usr/local/pgsql/bin",
	"/usr/local/bin",
	"/usr/bin",
}

// searcher is Find with its environment as values, so that tests can replace it.
type searcher struct {
	path    []string
	globs   []string
	version func(postgres string) (int, error)
	bindir  func(pgConfig string) (string, error)
}

func (s searcher) find(major int) (Binaries, error) {
	var found []Binaries
	for _, dir := range s.directories() {
		if dir = resolve(dir); !complete(dir) {
			continue
		}
		version, err := s.version(filepath.Join(dir, "postgres"))
		if err != nil || version < MinimumMajor || (major != 0 && version != major) {
			continue
		}
		found = append(found, Binaries{Dir: dir, Major: version})
	}
	if len(found) == 0 {
		return Binaries{}, missing(major)
	}
	// The sort is stable, so that of two installations of one version the PATH wins.
	slices.SortStableFunc(found, func(a, b Binaries) int { return cmp.Compare(b.Major, a.Major) })
	return found[0], nil
}

// directories returns every directory to search, once, in order of preference.
func (s searcher) directories() []string {
	dirs := slices.Clone(s.path)
	for _, dir := range s.path {
		config := filepath.Join(dir, "pg_config")
		if !executable(config) {
			continue
		}
		if bindir, err := s.bindir(config); err == nil {
			dirs = append(dirs, bindir)
		}
	}
	for _, pattern := range s.globs {
		// The patterns are constants; the only possible error is a bad pattern.
		matches, _ := filepath.Glob(pattern)
		dirs = append(dirs, matches...)
	}
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		known := seen[dir]
		seen[dir] = true
		return known
	})
}

// resolve follows a link to postgres into its installation: a common bin directory often has links to some of the
// programs only.
func resolve(dir string) string {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil || !complete(filepath.Dir(real)) {
		return dir
	}
	return filepath.Dir(real)
}

func complete(dir string) bool {
	return executable(filepath.Join(dir, "postgres")) && executable(filepath.Join(dir, "initdb"))
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

func majorOf(postgres string) (int, error) {
	out, err := exec.Command(postgres, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("run %s --version: %w", postgres, err)
	}
	return parseMajor(string(out))
}

// parseMajor parses the output of `postgres --version`: "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)", or
// "18beta1" for a future version.
func parseMajor(line string) (int, error) {
	_, version, _ := strings.Cut(line, "(PostgreSQL) ")
	digits := 0
	for digits < len(version) && version[digits] >= '0' && version[digits] <= '9' {
		digits++
	}
	major, err := strconv.Atoi(version[:digits])
	if err != nil {
		return 0, fmt.Errorf("no PostgreSQL version in %q", strings.TrimSpace(line))
	}
	return major, nil
}

func configuredBindir(pgConfig string) (string, error) {
	out, err := exec.Command(pgConfig, "--bindir").Output()
	if err != nil {
		return "", fmt.Errorf("run %s --bindir: %w", pgConfig, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// missing returns an error that tells an operator what to install.
func missing(major int) error {
	if major != 0 {
		return fmt.Errorf("%w: the data was created by PostgreSQL %d; install that version "+
			"(Debian and Ubuntu: postgresql-%d, Fedora and RHEL: postgresql%d-server, Homebrew: postgresql@%d)",
			ErrNoPostgres, major, major, major, major)
	}
	return fmt.Errorf("%w: install PostgreSQL %d or newer "+
		"(Debian and Ubuntu: postgresql, Fedora and RHEL: postgresql-server, Homebrew: postgresql) "+
		"or set BERTH_DATABASE_URL to your own database", ErrNoPostgres, MinimumMajor)
}
