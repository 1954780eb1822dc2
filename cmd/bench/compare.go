package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/berthd/berth/cmd/bench/rig"
)

// clientCounts are how many clients ask at the same time.
var clientCounts = []int{1, 4, 16}

// compare measures a case and its floor in turns and prints the medians, and the
// median of the ratios of the pairs.
func compare(ctx context.Context, place *place, settings settings, of measured, clients int) error {
	turns, err := place.InTurns(ctx, clients, settings.rounds, settings.length, of.floor, of.ask)
	if err != nil {
		return err
	}
	ours, floors, shares := rig.MedianTime(turns.Ours), rig.MedianTime(turns.Floors), turns.Shares()
	fmt.Fprintf(os.Stdout, "  %2d clients: p50 %8s, %7.0f/s   floor p50 %8s, %7.0f/s   throughput %3.0f %% of the floor (%.0f to %.0f), p50 %.1f floors\n",
		clients, rig.Latency(ours), rig.MedianRate(turns.Ours), rig.Latency(floors), rig.MedianRate(turns.Floors),
		100*rig.Median(shares), 100*slices.Min(shares), 100*slices.Max(shares), float64(ours)/float64(floors))
	return nil
}

func rates(of []rig.Figures) string {
	var texts []string
	for _, one := range of {
		texts = append(texts, fmt.Sprintf("%.0f", one.Rate))
	}
	return strings.Join(texts, ", ")
}
