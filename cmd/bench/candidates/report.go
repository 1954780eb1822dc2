package candidates

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/berthd/berth/cmd/bench/rig"
)

// Files of --plot.
const (
	latencyPlot = "candidates.svg"
	cpuPlot     = "candidates-1000.svg"
)

// report is what is printed and drawn at the end of a run.
type report struct {
	Results  []result
	Verdicts []verdict
}

func (r report) print(settings settings) error {
	if settings.plots != "" {
		for name, drawn := range map[string]string{latencyPlot: plot(r.Results), cpuPlot: plotCPU(r.Results)} {
			if err := os.WriteFile(filepath.Join(settings.plots, name), []byte(drawn), 0o644); err != nil {
				return err
			}
		}
	}
	return r.table(os.Stderr)
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

// table prints the comparisons and the verdicts.
func (r report) table(to io.Writer) error {
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
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
