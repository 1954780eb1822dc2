// Command runtests runs the Go tests of the product and of its benchmarks for `make test`, `make check` and `make flaky`.
//
// It runs the packages that take longest first, prints a line for each package that ends, how long the rest is likely to take,
// and the slowest tests. It decides what to run and what to print; `go test` does the work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are the flags of all modes.
type options struct {
	root    string
	base    string
	budget  time.Duration
	times   int
	only    string
	slowest int
	record  bool
}

const usage = `Usage: runtests [flags] all|check|flaky

  all    run every test
  check  check what differs from the commit --base: formatting, go vet, generated files, and the short tests of the
         changed packages and of those that import them, as far as --budget permits
  flaky  run the tests of the changed packages, or of --packages, --times times beside two busy loops, and once under the
         race detector

`

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "`directory` of the product's module")
	flag.StringVar(&o.base, "base", "", "`commit` to compare with (default: where this branch left origin/main or main, or the last commit)")
	flag.DurationVar(&o.budget, "budget", 90*time.Second, "`time` that check may take")
	flag.IntVar(&o.times, "times", 20, "how `often` flaky runs each package")
	flag.StringVar(&o.only, "packages", "", "`patterns` of the packages that flaky runs, such as './server/data/store ./client/...'")
	flag.IntVar(&o.slowest, "slowest", 10, "`number` of the slowest tests that are printed")
	flag.BoolVar(&o.record, "record", false, "write the times of the packages to tools/runtests/seconds.txt")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, &o, flag.Args())
	if errors.Is(err, errUsage) {
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("invalid arguments")

func run(ctx context.Context, o *options, arguments []string) error {
	var err error
	if o.root, err = filepath.Abs(o.root); err != nil || len(arguments) == 0 {
		return errors.Join(err, errUsage)
	}
	switch arguments[0] {
	case "all":
		return runAll(ctx, o, arguments[1:])
	case "check":
		return check(ctx, o)
	case "flaky":
		return findFlaky(ctx, o)
	}
	return errUsage
}

// runAll runs the tests of all packages; flags are those of `go test`.
func runAll(ctx context.Context, o *options, flags []string) error {
	packages, err := listAll(ctx, o.root)
	if err != nil {
		return err
	}
	var tested []string
	for _, one := range packages {
		if one.hasTests() {
			tested = append(tested, one.ImportPath)
		}
	}
	report := newReport(os.Stdout, len(tested))
	err = goTest(ctx, o.root, longestFirst(tested), append([]string{"-timeout", "20m"}, flags...), report)
	report.summary(o.slowest)
	if o.record && err == nil {
		err = writeSeconds(o.root, report)
	}
	return err
}
