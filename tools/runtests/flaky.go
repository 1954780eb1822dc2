package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// findFlaky runs each package several times beside two busy loops, and once under the race detector. A test that fails
// once is wrong: it waits for a time instead of a condition, or two tests share something.
func findFlaky(ctx context.Context, o *options) error {
	paths, err := flakyPackages(ctx, o)
	if err != nil || len(paths) == 0 {
		return err
	}
	fmt.Printf("%d packages, %d times each beside two busy loops, then once with -race\n", len(paths), o.times)
	busy, stop := context.WithCancel(ctx)
	var loops sync.WaitGroup
	for range 2 {
		loops.Go(func() {
			for busy.Err() == nil {
			}
		})
	}
	failures := map[string]int{}
	var first error
	for range o.times {
		report := newReport(os.Stdout, len(paths))
		if err := goTest(ctx, o.root, paths, []string{"-count=1", "-timeout", "60m"}, report); err != nil {
			first = err
		}
		for _, test := range report.failed {
			failures[test]++
		}
		if ctx.Err() != nil {
			break
		}
	}
	stop()
	loops.Wait()
	report := newReport(os.Stdout, len(paths))
	if err := goTest(ctx, o.root, paths, []string{"-count=1", "-race", "-timeout", "60m"}, report); err != nil {
		first = err
	}
	for _, test := range report.failed {
		failures[test+" (with -race)"]++
	}
	printFailures(failures, o.times)
	return first
}

// flakyPackages returns the packages of the flag, or those that have changed.
func flakyPackages(ctx context.Context, o *options) ([]string, error) {
	if o.only != "" {
		return packagesOf(ctx, o.root, strings.Fields(o.only))
	}
	changed, err := findChanges(ctx, o.root, o.base)
	if err != nil {
		return nil, err
	}
	fmt.Println(changed)
	return tested(changed.packages), nil
}

// packagesOf returns the packages with tests that patterns name, such as ./server/... and ./cmd/bench/candidates.
func packagesOf(ctx context.Context, root string, patterns []string) ([]string, error) {
	var product, bench []string
	for _, pattern := range patterns {
		if below, isBench := strings.CutPrefix(pattern, "./"+benchmarks+"/"); isBench {
			bench = append(bench, "./"+below)
		} else {
			product = append(product, pattern)
		}
	}
	var packages []goPackage
	if len(product) > 0 {
		listed, err := listPackages(ctx, root, product...)
		if err != nil {
			return nil, err
		}
		packages = listed
	}
	if len(bench) > 0 {
		listed, err := listPackages(ctx, filepath.Join(root, benchmarks), bench...)
		if err != nil {
			return nil, err
		}
		packages = append(packages, listed...)
	}
	return tested(packages), nil
}

func printFailures(failures map[string]int, times int) {
	if len(failures) == 0 {
		fmt.Println("No test has failed.")
		return
	}
	var lines []string
	for test, count := range failures {
		lines = append(lines, fmt.Sprintf("%3d of %d  %s", count, times, test))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	fmt.Printf("\nFailures:\n%s\n", strings.Join(lines, "\n"))
}
