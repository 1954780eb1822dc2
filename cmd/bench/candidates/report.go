package candidates

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/berthd/berth/cmd/bench/rig"
)

// Files of --plot.
const (
	latencyPlot = "candidates.svg"
	cpuPlot     = "candidates-1000.svg"
)

// report is all that is printed.
type report struct {
	Machine string `json:"machine"`
	// Against is the file of the second program.
	Against  string    `json:"against,omitempty"`
	Results  []result  `json:"results"`
	Verdicts []verdict `json:"verdicts"`
}

func (r report) print(settings settings) error {
	if settings.plots != "" {
		for name, drawn := range map[string]string{latencyPlot: plot(r.Results), cpuPlot: plotCPU(r.Results)} {
			if err := os.WriteFile(filepath.Join(settings.plots, name), []byte(drawn), 0o644); err != nil {
				return err
			}
		}
	}
	if settings.output == "json" {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	return r.table(os.Stdout)
}

// failures counts the results that are errors, each of which progress has told.
func (r report) failures() error {
	count := 0
	for _, one := range r.Results {
		if one.Error != "" {
			count++
		}
	}
	if count == 0 {
		return nil
	}
	return rig.Failure(fmt.Sprintf("%d of %d measurements failed", count, len(r.Results)))
}

func (r report) table(to io.Writer) error {
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%s\n", r.Machine)
	if r.Against != "" {
		fmt.Fprintf(out, "against %s: its columns are named -, ratios below 1 are those of a faster berth\n", r.Against)
	}
	r.latencies(out)
	r.others(out)
	r.comparisons(out)
	fmt.Fprintf(out, "\ntarget\tquery\tvalue\tmeasured\t\tworst at\n")
	for _, one := range r.Verdicts {
		value := fmt.Sprintf("%.3g", one.Value)
		if one.Outcome == failed || one.Outcome == notMeasured {
			value = "-"
		}
		fmt.Fprintf(out, "%s\t%s\t%.3g\t%s\t%s\t%s\n", one.Target, label(one.Query, one.RequestLimit), one.Limit, value, one.Outcome, one.Where)
	}
	return out.Flush()
}

// latencies has a line for each query, limit, utilization and size.
func (r report) latencies(out io.Writer) {
	var rows []result
	exponents := map[result]string{}
	for _, one := range r.Results {
		switch one.Kind {
		case latency:
			rows = append(rows, one)
		case growth:
			exponents[line(one)] = fmt.Sprintf("%.3f", one.Ratio)
		}
	}
	sortRows(rows)
	fmt.Fprint(out, "\none client\tused up\ttrees\tms\tF\tCPU ms: PostgreSQL\tGo\tsum\tround trips\texponent\tcandidates\tbytes\tpeak MB")
	if r.Against != "" {
		fmt.Fprint(out, "\t- ms\t- PostgreSQL\t- Go\t- sum\t- round trips\t- peak MB\tms / - ms\tsum / - sum")
	}
	fmt.Fprintln(out)
	for _, one := range rows {
		fmt.Fprintf(out, "%s\t%s\t%d\t", label(one.Query, one.Limit), one.Used, one.Trees)
		if one.Error != "" {
			fmt.Fprint(out, "error\n")
			continue
		}
		fmt.Fprintf(out, "%.2f\t%.1f\t%s\t%s\t%s\t%d\t%d\t%s", one.Milliseconds, one.Ratio, costs(one.CPU), trips(one.RoundTrips),
			exponents[line(one)], one.Candidates, one.Bytes, space(one.PeakMB))
		if older := one.Against; older != nil {
			fmt.Fprintf(out, "\t%.2f\t%s\t%s\t%s\t%.2f\t%.2f", older.Milliseconds, costs(older.CPU), trips(older.RoundTrips), space(older.PeakMB),
				older.LatencyRatio, older.CPURatio)
		}
		fmt.Fprintln(out)
	}
}

// line is what a latency and its exponent have in common.
func line(of result) result {
	return result{Query: of.Query, Limit: of.Limit, Used: of.Used, Trees: of.Trees}
}

// sortRows puts the rows of a query together, in the order of the queries: clouds are
// measured one after the other. Rows without limit come last.
func sortRows(rows []result) {
	first := map[string]int{}
	for i, one := range rows {
		if _, known := first[one.Query]; !known {
			first[one.Query] = i
		}
	}
	order := func(limit int) int {
		if limit == 0 {
			return 1 << 30
		}
		return limit
	}
	utilizations := map[string]int{}
	for i, one := range rows {
		if _, known := utilizations[one.Used]; !known {
			utilizations[one.Used] = i
		}
	}
	slices.SortStableFunc(rows, func(a, b result) int {
		return cmp.Or(cmp.Compare(first[a.Query], first[b.Query]), cmp.Compare(order(a.Limit), order(b.Limit)),
			cmp.Compare(utilizations[a.Used], utilizations[b.Used]), cmp.Compare(a.Trees, b.Trees))
	})
}

func costs(of cpuTime) string {
	return fmt.Sprintf("%.2f\t%.2f\t%.2f", of.Postgres, of.Server, of.sum())
}

func trips(count int64) string { return fmt.Sprint(count) }

func space(megabytes float64) string {
	if megabytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", megabytes)
}

// others are held against something else, or measured with several clients.
func (r report) others(out io.Writer) {
	fmt.Fprint(out, "\nbeside something else\tquery\ttrees\tused up\tratio\tof all rounds\tms\tbaseline ms\t/s\tbaseline /s\tCPU sum\tpeak MB")
	if r.Against != "" {
		fmt.Fprint(out, "\t- ms\t- /s\t- CPU sum\t- peak MB")
	}
	fmt.Fprintln(out)
	for _, of := range []kind{throughput, noLimit, memory, coldFirst, coldSettled} {
		for _, one := range r.Results {
			if one.Kind != of {
				continue
			}
			fmt.Fprintf(out, "%s\t%s\t%d\t%s\t", one.Kind, label(one.Query, one.Limit), one.Trees, one.Used)
			if one.Error != "" {
				fmt.Fprint(out, "error\n")
				continue
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", decimals(one.Ratio, 3), rounds(one), decimals(one.Milliseconds, 2),
				decimals(one.BaselineMilliseconds, 2), perSecond(one.Rate), perSecond(one.BaselineRate), decimals(one.CPU.sum(), 2), space(one.PeakMB))
			if older := one.Against; older != nil {
				fmt.Fprintf(out, "\t%s\t%s\t%s\t%s", decimals(older.Milliseconds, 2), perSecond(older.Rate), decimals(older.CPU.sum(), 2), space(older.PeakMB))
			}
			fmt.Fprintln(out)
		}
	}
}

// comparisons has one line for all equal responses, and one for each other.
func (r report) comparisons(out io.Writer) {
	compared, bytes := 0, int64(0)
	var different []result
	for _, one := range r.Results {
		if one.Kind != comparison {
			continue
		}
		compared++
		bytes += one.Bytes
		if one.Error != "" {
			different = append(different, one)
		}
	}
	if compared == 0 {
		return
	}
	fmt.Fprintf(out, "\n%d responses of both programs compared, %d bytes are equal, %d responses differ\n", compared, bytes, len(different))
	for _, one := range different {
		fmt.Fprintf(out, "%s\t%s\t%s\n", label(one.Query, one.Limit), one.where(), one.Error)
	}
}

func rounds(of result) string {
	if of.Ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f to %.3f", of.Lowest, of.Highest)
}

// decimals formats a figure, and 0, which stands for none, as nothing.
func decimals(figure float64, places int) string {
	if figure == 0 {
		return ""
	}
	return fmt.Sprintf("%.*f", places, figure)
}

func perSecond(rate float64) string { return decimals(rate, 0) }
