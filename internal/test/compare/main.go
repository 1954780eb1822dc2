// Command compare sends the same requests to two builds of berth, and compares what they respond: statuses, headers and
// bodies, byte by byte. It is the proof of a change that must not change any behavior.
//
// The requests are those of the scenarios, those of the generator of package badinput, and those of the recorded sessions
// of commands, whose output and own requests it compares too. Each build migrates its own database.
//
// It is not for whether a response is right: the tests of the packages check that. What differs between two runs of the same
// build is in one table, variable.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/berthd/berth/internal/test/privatedb"
)

// options are the flags.
type options struct {
	old, new string
	root     string
	sources  []string
	files    *regexp.Regexp
	requests int
	seed     uint64
}

// Exit codes.
const (
	exitSame = iota
	exitDifferent
	exitFailed
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	chosen, err := parse(arguments, stderr)
	if err != nil {
		return exitFailed
	}
	result := &report{out: stdout}
	if err := chosen.compare(ctx, result); err != nil {
		fmt.Fprintln(stderr, "compare:", err)
		return exitFailed
	}
	result.table()
	if result.different() {
		return exitDifferent
	}
	return exitSame
}

// sources are the sources of requests, in the order in which they run.
var sources = []struct {
	name string
	run  func(*comparison, context.Context) error
}{
	{"scenarios", (*comparison).scenarios},
	{"sessions", (*comparison).sessions},
	{"badinput", (*comparison).badinput},
}

func parse(arguments []string, stderr io.Writer) (*options, error) {
	var names []string
	for _, source := range sources {
		names = append(names, source.name)
	}
	chosen := &options{}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&chosen.old, "old", "", "berth binary before the change")
	flags.StringVar(&chosen.new, "new", "", "berth binary after the change")
	flags.StringVar(&chosen.root, "root", ".", "checkout with the scenarios and the sessions")
	from := flags.String("sources", strings.Join(names, ","), "comma-separated sources of requests")
	files := flags.String("files", "", "regular expression for the names of scenario and session files")
	flags.IntVar(&chosen.requests, "requests", 20_000, "number of requests of the source badinput")
	flags.Uint64Var(&chosen.seed, "seed", 1, "seed of the source badinput")
	err := flags.Parse(arguments)
	if err == nil {
		chosen.sources = strings.Split(*from, ",")
		err = chosen.validate(names)
	}
	if err == nil {
		chosen.files, err = regexp.Compile(*files)
	}
	if err != nil {
		fmt.Fprintln(stderr, "compare:", err)
	}
	return chosen, err
}

func (o *options) validate(names []string) error {
	for _, source := range o.sources {
		if !slices.Contains(names, source) {
			return fmt.Errorf("-sources: %q is not one of %s", source, strings.Join(names, ", "))
		}
	}
	for _, program := range []*string{&o.old, &o.new} {
		path, err := filepath.Abs(*program) // commands run in another directory
		if err != nil {
			return err
		}
		if found, err := os.Stat(path); err != nil || found.IsDir() {
			return fmt.Errorf("-old and -new must be berth binaries: %q is none", *program)
		}
		*program = path
	}
	return nil
}

// comparison is one run.
type comparison struct {
	*options
	*report
	dir      string
	postgres *privatedb.PostgreSQL
	// create returns the URL of a new migrated database of a side, and a function that drops it.
	create func(context.Context, *side) (url string, drop func(context.Context) error, err error)
	// front returns the address of a proxy in front of the new service. Tests set it.
	front func(address string) string
}

// compare runs the sources.
func (o *options) compare(ctx context.Context, result *report) (err error) {
	c, err := o.open(ctx, result)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for _, source := range sources {
		if !slices.Contains(o.sources, source.name) {
			continue
		}
		result.begin(source.name)
		if err := source.run(c, ctx); err != nil {
			return fmt.Errorf("%s: %w", source.name, err)
		}
	}
	return nil
}

// open starts PostgreSQL and creates the templates of the databases.
func (o *options) open(ctx context.Context, result *report) (*comparison, error) {
	dir, err := os.MkdirTemp("", "berth-compare-")
	if err != nil {
		return nil, err
	}
	c := &comparison{options: o, report: result, dir: dir}
	c.create = c.copyTemplate
	if c.postgres, err = privatedb.Open(ctx, databaseSettings); err == nil {
		err = c.makeTemplates(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *comparison) close() error {
	var err error
	if c.postgres != nil {
		err = c.postgres.Close()
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}
