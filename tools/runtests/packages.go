package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// goPackage is what `go list` says about a package.
type goPackage struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles          []string
}

func (p *goPackage) hasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// imports reports whether the package or its tests import another one.
func (p *goPackage) imports(path string) bool {
	return slices.Contains(p.Imports, path) || slices.Contains(p.TestImports, path) || slices.Contains(p.XTestImports, path)
}

// benchmarks is the folder of the module of the benchmarks, and the beginning of its import paths after that of the product.
const benchmarks = "cmd/bench"

// isBenchmark reports whether a package is in the module of the benchmarks.
func isBenchmark(path string) bool { return strings.HasPrefix(path+"/", module+benchmarks+"/") }

// byModule calls a function with the packages of the product, and with those of the benchmarks in the folder of their module.
// Without packages of a module, it is not called for this one.
func byModule(root string, packages []string, do func(dir string, packages []string) error) error {
	var product, bench []string
	for _, path := range packages {
		if isBenchmark(path) {
			bench = append(bench, path)
		} else {
			product = append(product, path)
		}
	}
	var errs []error
	if len(product) > 0 {
		errs = append(errs, do(root, product))
	}
	if len(bench) > 0 {
		errs = append(errs, do(filepath.Join(root, benchmarks), bench))
	}
	return errors.Join(errs...)
}

// listAll lists the packages of the product and of the benchmarks.
func listAll(ctx context.Context, root string) ([]goPackage, error) {
	product, err := listPackages(ctx, root, "./...")
	if err != nil {
		return nil, err
	}
	bench, err := listPackages(ctx, filepath.Join(root, benchmarks), "./...")
	return append(product, bench...), err
}

func listPackages(ctx context.Context, root string, patterns ...string) ([]goPackage, error) {
	text, err := output(ctx, root, "go", append([]string{"list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var one goPackage
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("output of go list: %w", err)
		}
		packages = append(packages, one)
	}
}

// output runs a program and returns what it prints.
func output(ctx context.Context, dir, program string, arguments ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir, command.Stdout, command.Stderr = dir, &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(arguments, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// secondsFile has a line for each package whose tests take a second or more: seconds and import path.
//
//go:embed seconds.txt
var secondsFile string

// seconds are the times of the packages when they were last recorded. They order packages and estimate the rest of a run.
var seconds = func() map[string]float64 {
	times := map[string]float64{}
	for line := range strings.Lines(secondsFile) {
		text, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if time, err := strconv.ParseFloat(text, 64); err == nil {
			times[path] = time
		}
	}
	return times
}()

// expected is the time of a package in seconds; what is not recorded takes half a second.
func expected(path string) float64 {
	if time, isRecorded := seconds[path]; isRecorded {
		return time
	}
	return 0.5
}

// longestFirst sorts packages, so that the longest ones do not run alone at the end.
func longestFirst(packages []string) []string {
	slices.SortStableFunc(packages, func(a, b string) int { return int(100*expected(b)) - int(100*expected(a)) })
	return packages
}

// writeSeconds records the times of a run.
func writeSeconds(root string, report *report) error {
	var lines strings.Builder
	paths := slices.SortedFunc(maps.Keys(report.ended), func(a, b string) int {
		return int(100*report.ended[b]) - int(100*report.ended[a])
	})
	for _, path := range paths {
		if report.ended[path] >= 1 {
			fmt.Fprintf(&lines, "%.0f %s\n", report.ended[path], path)
		}
	}
	return os.WriteFile(filepath.Join(root, "tools/runtests/seconds.txt"), []byte(lines.String()), 0o644)
}
