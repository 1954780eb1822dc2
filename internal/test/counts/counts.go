// Package counts scales how many cases a test runs, not which kinds of cases: `make test` sets RAPID_CHECKS to 10 and runs
// a tenth, `make soak-tests` runs all. It is for cases that are drawn at random or enumerated; package rapid reads the
// variable itself.
package counts

import (
	"os"
	"strconv"
)

// all is the value of RAPID_CHECKS that runs all cases; it is rapid's default.
const all = 100

var checks = func() int {
	if set, err := strconv.Atoi(os.Getenv("RAPID_CHECKS")); err == nil && set > 0 {
		return set
	}
	return all
}()

// Of returns how many of n cases to run, at least one.
func Of(n int) int { return max(1, n*checks/all) }

// All reports whether all cases run, so that a test can check how they are distributed.
func All() bool { return checks >= all }
