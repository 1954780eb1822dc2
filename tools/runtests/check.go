package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// checkStep is a step of check and the folders whose changes need it; nil: any change.
type checkStep struct {
	name    string
	folders []string
	run     func(ctx context.Context, root string, changed *changes) error
}

// checkSteps are the steps before the tests. Each fails with what to do.
var checkSteps = []checkStep{
	{"formatting", nil, checkFormatting},
	{"go vet", nil, checkVet},
	{"generated queries", []string{"sql", "sqlc.yaml", "gen/db"}, func(ctx context.Context, root string, _ *changes) error {
		_, err := output(ctx, root, "go", "tool", "-modfile=tools/go.mod", "sqlc", "diff")
		return withRemedy(err, "run make generate")
	}},
	{"generated schema and numbers of the statements", []string{"sql"}, func(ctx context.Context, root string, _ *changes) error {
		_, err := output(ctx, root, "go", "test", "./sql", "./server/data/migrate", "-run", "^TestFunctionSet_|^TestSchemaDump_")
		return withRemedy(err, "run make generate")
	}},
	{"generated OpenAPI documents", []string{"server/api/placement", "server/api/baremetal", "server/api/route", "server/wire/microversion", "openapi"}, checkDocuments},
}

func withRemedy(err error, remedy string) error {
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, remedy)
	}
	return err
}

// check runs the steps and as many of the short tests of what has changed as the budget permits.
func check(ctx context.Context, o *options) error {
	begun := time.Now()
	changed, err := findChanges(ctx, o.root, o.base)
	if err != nil {
		return err
	}
	fmt.Println(changed)
	if len(changed.files) == 0 {
		return nil
	}
	for _, step := range checkSteps {
		if step.folders != nil && !changed.touches(step.folders...) {
			continue
		}
		since := time.Now()
		if err := step.run(ctx, o.root, changed); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Printf("ok   %6.1f s  %s\n", time.Since(since).Seconds(), step.name)
	}
	return checkTests(ctx, o, changed, begun)
}

// linking is the time in seconds in which a test program is linked.
const linking = 3

// checkTests runs the tests with -short: those of the changed packages, then those of the others, the fastest first, as many
// as the budget is likely to permit.
func checkTests(ctx context.Context, o *options, changed *changes, begun time.Time) error {
	own, others := tested(changed.packages), tested(changed.importers)
	slices.Reverse(longestFirst(others))
	report := newReport(os.Stdout, len(own)+len(others))
	flags := []string{"-short", "-vet=off", "-timeout", "10m"}
	err := goTest(ctx, o.root, own, flags, report)
	var permitted, left []string
	rest := (o.budget - time.Since(begun)).Seconds()
	for _, path := range others {
		if rest -= expected(path) + linking; rest < 0 {
			left = append(left, path)
		} else {
			permitted = append(permitted, path)
		}
	}
	err = errors.Join(err, goTest(ctx, o.root, permitted, flags, report))
	report.summary(0)
	if len(report.skipped) > 0 {
		fmt.Printf("Left out, because they are long; make test runs them:\n  %s\n", strings.Join(report.skipped, "\n  "))
	}
	if len(left) > 0 {
		fmt.Printf("Left out after %s: the tests of %s\n", time.Since(begun).Round(time.Second), strings.ReplaceAll(strings.Join(left, ", "), module, ""))
	}
	return err
}

func checkFormatting(ctx context.Context, root string, changed *changes) error {
	arguments := []string{"-l"}
	for _, file := range changed.files {
		if _, err := os.Stat(filepath.Join(root, file)); err == nil && strings.HasSuffix(file, ".go") {
			arguments = append(arguments, file)
		}
	}
	if len(arguments) == 1 {
		return nil
	}
	unformatted, err := output(ctx, root, "gofmt", arguments...)
	if err == nil && unformatted != "" {
		err = fmt.Errorf("run gofmt -w %s", strings.Join(strings.Fields(unformatted), " "))
	}
	return err
}

func checkVet(ctx context.Context, root string, changed *changes) error {
	var paths []string
	for _, one := range changed.packages {
		paths = append(paths, one.ImportPath)
	}
	return byModule(root, paths, func(dir string, packages []string) error {
		_, err := output(ctx, dir, "go", append([]string{"vet"}, packages...)...)
		return err
	})
}

func checkDocuments(ctx context.Context, root string, _ *changes) error {
	made, err := os.MkdirTemp("", "documents")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	if _, err := output(ctx, root, "go", "run", "./openapi/record", "-root", made); err != nil {
		return err
	}
	for _, api := range []string{"placement", "baremetal"} {
		if _, err := output(ctx, root, "diff", "-r", filepath.Join(made, "openapi", api), "openapi/"+api); err != nil {
			return withRemedy(err, "the documents are not what the route table gives; run make generate")
		}
	}
	return nil
}
