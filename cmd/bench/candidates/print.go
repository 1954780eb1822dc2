package candidates

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/berthd/berth/cmd/bench/rig"
)

// columns are those of benchstat: F or another baseline, the measured program, and that of --against.
var columns = []string{rig.OfBaseline, rig.OfBerth, "/of=against"}

// Units of figures that are the same in each round.
const (
	unitRoundTrips = "round-trips/op"
	unitCandidates = "candidates/op"
	unitBytes      = "B/op"
	unitPeak       = "peak-B/op"
	unitExponent   = "exponent"
)

// printUnits tells benchstat which figures have no variance.
func printUnits() {
	for _, unit := range []string{unitRoundTrips, unitCandidates, unitBytes, unitPeak, unitExponent} {
		fmt.Printf("Unit %s assume=exact\n", unit)
	}
}

// title returns the name of the results of a query without the last part.
func (r result) title() string {
	limit := "none"
	if r.Limit > 0 {
		limit = strconv.Itoa(r.Limit)
	}
	kind := strings.ReplaceAll(string(r.Kind), ", ", "_")
	return fmt.Sprintf("Candidates/%s/query=%s/limit=%s/trees=%d/used=%s", kind, r.Query, limit, r.Trees, strings.ReplaceAll(r.Used, " %", "%"))
}

// printRounds prints the figures of each round of the baseline and of the programs.
func (r result) printRounds(all []samples) error {
	var errs []error
	for i, rounds := range all {
		for _, round := range rounds {
			errs = append(errs, round.print(r.title()+columns[i]))
		}
	}
	return errors.Join(errs...)
}

// print prints the figures of a round; CPU times are those of one request.
func (f figures) print(name string) error {
	postgres, server := f.postgres.Seconds()/float64(f.Requests), f.server.Seconds()/float64(f.Requests)
	return rig.PrintResult(name, f.Requests,
		benchfmt.Value{Value: f.P50.Seconds(), Unit: "sec/op"}, benchfmt.Value{Value: f.Rate, Unit: "requests/s"},
		benchfmt.Value{Value: postgres, Unit: "postgresql-CPU-sec/op"}, benchfmt.Value{Value: server, Unit: "server-CPU-sec/op"},
		benchfmt.Value{Value: postgres + server, Unit: "CPU-sec/op"})
}

// printFacts prints what is the same in each round of a program.
func (r result) printFacts() error {
	programs := []*measurement{&r.measurement}
	if r.Against != nil {
		programs = append(programs, r.Against)
	}
	var errs []error
	for i, one := range programs {
		facts := []benchfmt.Value{
			{Value: float64(r.Candidates), Unit: unitCandidates},
			{Value: float64(one.Bytes), Unit: unitBytes},
		}
		if one.RoundTrips > 0 {
			facts = append(facts, benchfmt.Value{Value: float64(one.RoundTrips), Unit: unitRoundTrips})
		}
		if one.PeakMB > 0 {
			facts = append(facts, benchfmt.Value{Value: one.PeakMB * 1e6, Unit: unitPeak})
		}
		errs = append(errs, rig.PrintResult(r.title()+columns[i+1], 1, facts...))
	}
	return errors.Join(errs...)
}

// printCold prints the latencies of a query on a database without statistics, and those of F.
func (r result) printCold(baseline, settled rig.Figures, first time.Duration) error {
	firstTitle, settledTitle := r.as(coldFirst).title(), r.as(coldSettled).title()
	return errors.Join(
		baseline.Print(firstTitle+rig.OfBaseline),
		rig.Figures{P50: first, Rate: 1 / first.Seconds(), Requests: 1}.Print(firstTitle+rig.OfBerth),
		baseline.Print(settledTitle+rig.OfBaseline), settled.Print(settledTitle+rig.OfBerth))
}

// printGrowths prints exponents.
func printGrowths(all []result) error {
	var errs []error
	for _, one := range all {
		errs = append(errs, rig.PrintResult(one.title()+rig.OfBerth, 1, benchfmt.Value{Value: one.Ratio, Unit: unitExponent}))
	}
	return errors.Join(errs...)
}
