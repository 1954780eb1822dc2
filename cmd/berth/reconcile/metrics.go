package reconcile

import (
	"fmt"
	"strings"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
)

// metricsText returns the metrics of a run in the text format of Prometheus.
func metricsText(source string, findings []Finding, now time.Time) string {
	source, _, _ = strings.Cut(source, ":")
	var text strings.Builder
	write := func(name, help string, numbers map[Kind]int) {
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
		for _, kind := range kinds {
			fmt.Fprintf(&text, "%s{source=%q,finding=%q} %d\n", name, source, string(kind), numbers[kind])
		}
	}
	isDone := func(f *Finding) bool { return f.Outcome == Repaired || f.Outcome == Unneeded }
	write("berth_reconcile_findings", "Number of differences that the last run of berth reconcile found and did not repair.",
		countByKind(findings, func(f *Finding) bool { return !isDone(f) }))
	write("berth_reconcile_repaired", "Number of differences that the last run of berth reconcile repaired.", countByKind(findings, isDone))
	const last = "berth_reconcile_last_success_timestamp_seconds"
	fmt.Fprintf(&text, "# HELP %s Time of the last run of berth reconcile that read the source and the server.\n# TYPE %s gauge\n%s{source=%q} %d\n",
		last, last, last, source, now.Unix())
	return text.String()
}

// writeMetrics replaces the metrics file, which a collector reads as another user.
func writeMetrics(path, text string) error {
	if err := frame.ReplaceFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("cannot write the metrics: %w", err)
	}
	return nil
}
