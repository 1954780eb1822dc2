// Package migrate migrates a database to the schema of this binary: first the numbered migrations, through goose, then
// the set of SQL functions in one transaction. One advisory lock covers both, so that any number of servers may start
// at the same time. A binary that is older than the database changes nothing.
//
// It is not for data: package store inserts standard traits and resource classes. It never migrates backwards. It
// connects to the database at the given address, which must not be that of a transaction pooler: a pooler would break
// the lock.
package migrate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	berthsql "github.com/berthd/berth/sql"
	"github.com/pressly/goose/v3"
)

// FunctionSet identifies one version of all functions together. The number grows with every released change; the hash
// distinguishes versions that a developer has not numbered yet.
type FunctionSet struct {
	Number int
	Hash   string
}

// Set is the content of a schema: migrations and functions.
type Set struct {
	// records turns on the record of changes in a new database.
	records    bool
	migrations fs.FS
	names      []migration // by version
	functions  []function  // by name
	known      FunctionSet
	recorded   string // the hash in functions/VERSION
}

type migration struct {
	version int64
	name    string
}

type function struct {
	name string
	text string
}

// Embedded returns the set that this binary was built with.
func Embedded() (Set, error) { return Load(berthsql.Files) }

// Load reads a set from the layout of the sql folder: migrations/*.sql, functions/*.sql and functions/VERSION. It
// returns an error that names the file if one cannot be read or has no number.
func Load(files fs.FS) (Set, error) {
	migrations, err := fs.Sub(files, "migrations")
	if err != nil {
		return Set{}, fmt.Errorf("open the migrations: %w", err)
	}
	set := Set{migrations: migrations}
	if set.names, err = listMigrations(migrations); err != nil {
		return Set{}, err
	}
	if set.functions, err = readFunctions(files); err != nil {
		return Set{}, err
	}
	version, err := fs.ReadFile(files, "functions/VERSION")
	if err != nil {
		return Set{}, fmt.Errorf("read functions/VERSION: %w", err)
	}
	recorded, err := parseFunctionSet(string(version))
	if err != nil {
		return Set{}, err
	}
	set.known = FunctionSet{Number: recorded.Number, Hash: hashFunctions(set.functions)}
	set.recorded = recorded.Hash
	return set, nil
}

// Latest returns the version of the newest migration.
func (s Set) Latest() int64 {
	if len(s.names) == 0 {
		return 0
	}
	return s.names[len(s.names)-1].version
}

// Functions returns the number in the VERSION file and the actual hash of the functions.
func (s Set) Functions() FunctionSet { return s.known }

// Numbered reports whether functions/VERSION records the actual hash of the functions. If not, a developer changed a
// function without raising the number, and running servers could not determine which set is newer.
func (s Set) Numbered() bool { return s.recorded == s.known.Hash }

// Hash returns a hash of the whole set: migrations, functions, and the comments generated from them.
func (s Set) Hash() (string, error) {
	sum := sha256.New()
	for _, m := range s.names {
		text, err := fs.ReadFile(s.migrations, m.name)
		if err != nil {
			return "", fmt.Errorf("read a migration: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", m.name, len(text), text)
	}
	comments, err := s.comments()
	if err != nil {
		return "", err
	}
	for _, comment := range comments {
		fmt.Fprintln(sum, comment.Statement())
	}
	fmt.Fprintf(sum, "%d %s", s.known.Number, s.known.Hash)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func listMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list the migrations: %w", err)
	}
	migrations := make([]migration, 0, len(names))
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		migrations = append(migrations, migration{version: version, name: name})
	}
	slices.SortFunc(migrations, func(a, b migration) int { return cmp.Compare(a.version, b.version) })
	return migrations, nil
}

func readFunctions(files fs.FS) ([]function, error) {
	names, err := fs.Glob(files, "functions/*.sql") // sorted by name
	if err != nil {
		return nil, fmt.Errorf("list the functions: %w", err)
	}
	functions := make([]function, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read a function: %w", err)
		}
		functions = append(functions, function{name: path.Base(name), text: string(text)})
	}
	return functions, nil
}

// hashFunctions includes names and lengths, so that moving text from one file to the next changes the hash.
func hashFunctions(functions []function) string {
	sum := sha256.New()
	for _, f := range functions {
		fmt.Fprintf(sum, "%s %d\n%s", f.name, len(f.text), f.text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// parseFunctionSet parses functions/VERSION: the number, a space, the hash.
func parseFunctionSet(text string) (FunctionSet, error) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return FunctionSet{}, fmt.Errorf("functions/VERSION must be a number and a hash, not %q", text)
	}
	number, err := strconv.ParseUint(fields[0], 10, 31)
	if err != nil {
		return FunctionSet{}, fmt.Errorf("functions/VERSION must begin with a number: %w", err)
	}
	return FunctionSet{Number: int(number), Hash: fields[1]}, nil
}

// String returns the text of functions/VERSION.
func (f FunctionSet) String() string { return fmt.Sprintf("%d %s", f.Number, f.Hash) }
