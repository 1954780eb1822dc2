package reconcile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
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

// writeMetrics replaces the metrics file atomically, so that a collector never reads a part of it.
func writeMetrics(path, text string) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".berth-reconcile-*")
	if err != nil {
		return fmt.Errorf("cannot write the metrics: %w", err)
	}
	_, err = file.WriteString(text)
	// The collector runs as another user.
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot write the metrics: %w", err), os.Remove(file.Name()))
	}
	return nil
}
