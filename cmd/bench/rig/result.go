package rig

import (
	"os"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Columns of benchstat: a result is that of a baseline, or that of Berth.
const (
	OfBaseline = "/of=baseline"
	OfBerth    = "/of=berth"
)

// PrintResult prints figures of a number of requests in Go's benchmark format, for benchstat. The name has parts such as
// /clients=4, of which the last says whose figures they are.
func PrintResult(name string, requests int, figures ...benchfmt.Value) error {
	return benchfmt.NewWriter(os.Stdout).Write(&benchfmt.Result{
		Name: benchfmt.Name(strings.ReplaceAll(name, " ", "_")), Iters: requests, Values: figures,
	})
}

// Print prints the figures under a name.
func (f Figures) Print(name string) error {
	return PrintResult(name, f.Requests, benchfmt.Value{Value: f.P50.Seconds(), Unit: "sec/op"}, benchfmt.Value{Value: f.Rate, Unit: "requests/s"})
}
