package requests

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/berthd/berth/cmd/bench/rig"
)

// clientCounts are the numbers of concurrent clients.
var clientCounts = []int{1, 4, 16}

// compare alternates between a case and its baseline and prints the medians, and the
// median of the ratios of the pairs.
func compare(ctx context.Context, env *benchEnv, settings settings, of measurement, clients int) error {
	turns, err := env.Alternate(ctx, clients, settings.rounds, settings.length, of.baseline, of.request)
	if err != nil {
		return err
	}
	ours, baselines, shares := rig.MedianTime(turns.Measured), rig.MedianTime(turns.Baseline), turns.Shares()
	fmt.Fprintf(os.Stdout, "  %2d clients: p50 %8s, %7.0f/s   baseline p50 %8s, %7.0f/s   throughput %3.0f %% of the baseline (%.0f to %.0f), p50 %.1f times the baseline\n",
		clients, rig.Latency(ours), rig.MedianRate(turns.Measured), rig.Latency(baselines), rig.MedianRate(turns.Baseline),
		100*rig.Median(shares), 100*slices.Min(shares), 100*slices.Max(shares), float64(ours)/float64(baselines))
	return nil
}

func rates(of []rig.Figures) string {
	var texts []string
	for _, one := range of {
		texts = append(texts, fmt.Sprintf("%.0f", one.Rate))
	}
	return strings.Join(texts, ", ")
}
