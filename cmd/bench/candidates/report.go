package candidates

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/berthd/berth/cmd/bench/rig"
)

// report is all that is printed.
type report struct {
	Machine  string    `json:"machine"`
	Results  []result  `json:"results"`
	Verdicts []verdict `json:"verdicts"`
}

func (r report) print(settings settings) error {
	if settings.toPlot != "" {
		if err := os.WriteFile(settings.toPlot, []byte(plot(r.Results)), 0o644); err != nil {
			return err
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
	fmt.Fprintf(out, "%s\n\n", r.Machine)
	r.latencies(out)
	r.others(out)
	fmt.Fprintf(out, "\ntarget\tquery\tlimit\tmeasured\t\tworst at\n")
	for _, one := range r.Verdicts {
		value := fmt.Sprintf("%.3g", one.Value)
		if one.Outcome == failed || one.Outcome == notMeasured {
			value = "-"
		}
		fmt.Fprintf(out, "%s\t%s\t%.3g\t%s\t%s\t%s\n", one.Target, one.Query, one.Limit, value, one.Outcome, one.Where)
	}
	return out.Flush()
}

// row is what the latencies of one query at one utilization have in common.
type row struct{ query, used string }

// latencies has a row for each query and utilization, and a column for each size.
func (r report) latencies(out io.Writer) {
	var rows []row
	var sizes []int
	cells := map[row]map[int]result{}
	exponents := map[row]string{}
	for _, one := range r.Results {
		at := row{one.Query, one.Used}
		switch one.Kind {
		case latency:
			if cells[at] == nil {
				rows, cells[at] = append(rows, at), map[int]result{}
			}
			cells[at][one.Trees] = one
			sizes = append(sizes, one.Trees)
		case growth:
			exponents[at] = fmt.Sprintf("%.3f", one.Ratio)
		}
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	// Clouds are measured one after the other; rows of a query belong together.
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(place(rows, a), place(rows, b)) })
	fmt.Fprint(out, "median latency, one client\tused up")
	for _, size := range sizes {
		fmt.Fprintf(out, "\t%d trees", size)
	}
	fmt.Fprint(out, "\texponent\tround trips\tcandidates\tbytes\tpeak MiB\n")
	for _, at := range rows {
		fmt.Fprintf(out, "%s\t%s", at.query, at.used)
		var last result
		for _, size := range sizes {
			one, measured := cells[at][size]
			fmt.Fprintf(out, "\t%s", cell(one, measured))
			if measured {
				last = one
			}
		}
		fmt.Fprintf(out, "\t%s\t%d\t%d\t%d\t%s\n", exponents[at], last.RoundTrips, last.Candidates, last.Bytes, space(last))
	}
}

// place is where a query is named first.
func place(rows []row, of row) int {
	return slices.IndexFunc(rows, func(one row) bool { return one.query == of.query })
}

func cell(one result, measured bool) string {
	switch {
	case !measured:
		return ""
	case one.Error != "":
		return "error"
	}
	return fmt.Sprintf("%.1f F  %.2f ms", one.Ratio, one.Milliseconds)
}

func space(of result) string {
	if of.PeakMiB == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", of.PeakMiB)
}

// others are held against something else, or measured with several clients.
func (r report) others(out io.Writer) {
	fmt.Fprint(out, "\nbeside something else\tquery\ttrees\tused up\tratio\tof all rounds\tms\tbaseline ms\t/s\tbaseline /s\tcandidates\tbytes\tpeak MiB\n")
	for _, of := range []kind{throughput, noLimit, coldFirst, coldSettled, random} {
		for _, one := range r.Results {
			if one.Kind != of {
				continue
			}
			fmt.Fprintf(out, "%s\t%s\t%d\t%s\t", one.Kind, one.Query, one.Trees, one.Used)
			if one.Error != "" {
				fmt.Fprint(out, "error\n")
				continue
			}
			fmt.Fprintf(out, "%.3f\t%.3f to %.3f\t%.2f\t%.2f\t%s\t%s\t%d\t%d\t%s\n", one.Ratio, one.Lowest, one.Highest, one.Milliseconds, one.BaselineMilliseconds,
				perSecond(one.Rate), perSecond(one.BaselineRate), one.Candidates, one.Bytes, space(one))
		}
	}
}

func perSecond(rate float64) string {
	if rate == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", rate)
}
