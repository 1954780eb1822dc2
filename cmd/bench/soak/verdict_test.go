package soak

import (
	"encoding/csv"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"
)

// hour is a run without growth: values vary, and rise only at the start.
func hour(change func(i int, s *sample)) (taken []sample) {
	for i := range 120 {
		one := sample{
			after: time.Duration(i) * 30 * time.Second, memory: 60 * mebi, heap: 20 * mebi, goroutines: 40, files: 30,
			connections: 16, tables: 8 * mebi, indexes: 4 * mebi, rate: 500, p50: 2 * time.Millisecond, p99: 20 * time.Millisecond,
		}
		one.memory += float64(i%7) * mebi
		one.goroutines += float64(i % 5)
		if i < 20 {
			one.memory, one.tables, one.connections = 30*mebi, mebi, 4
		}
		change(i, &one)
		taken = append(taken, one)
	}
	return taken
}

func TestBench_SoakSeriesGrows_VerdictNamesIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(i int, s *sample)
		grew   string
	}{
		"all is well":                  {func(int, *sample) {}, ""},
		"a single peak":                {func(i int, s *sample) { s.memory += float64(100*mebi) * float64(i/119) }, ""},
		"200 KiB of memory a sample":   {func(i int, s *sample) { s.memory += float64(i) * mebi / 5 }, "memory of the service"},
		"a goroutine in five samples":  {func(i int, s *sample) { s.goroutines += float64(i / 5) }, "goroutines"},
		"connections that stay open":   {func(i int, s *sample) { s.connections += float64(i / 20) }, "connections"},
		"a table that is not vacuumed": {func(i int, s *sample) { s.tables += float64(i) * mebi / 20 }, "tables"},
		"an index that bloats":         {func(i int, s *sample) { s.indexes += float64(i) * mebi / 20 }, "indexes"},
		"files that stay open":         {func(i int, s *sample) { s.files += float64(i / 5) }, "open files"},
		"requests that take longer":    {func(i int, s *sample) { s.p50 += time.Duration(i) * 200 * time.Microsecond }, "latency, median"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, flat := verdict(hour(c.change), true)
			if flat != (c.grew == "") {
				t.Errorf("flat: %v\n%s", flat, text)
			}
			for line := range strings.Lines(text) {
				if is := strings.Contains(line, "GREW"); is && (c.grew == "" || !strings.HasPrefix(line, c.grew)) {
					t.Errorf("the verdict names another series: %s", line)
				}
			}
		})
	}
}

func TestBench_SoakNotAlone_LatenciesAreNotChecked(t *testing.T) {
	t.Parallel()
	slower := func(i int, s *sample) { s.p50 += time.Duration(i) * 200 * time.Microsecond }
	if text, flat := verdict(hour(slower), false); !flat || !strings.Contains(text, "latency, median") {
		t.Errorf("flat: %v\n%s", flat, text)
	}
	larger := func(i int, s *sample) { s.memory += float64(i) * mebi / 5 }
	if text, flat := verdict(hour(larger), false); flat {
		t.Errorf("memory that grows is flat:\n%s", text)
	}
}

func TestBench_SoakTooFewSamples_NotFlat(t *testing.T) {
	t.Parallel()
	if text, flat := verdict(hour(func(int, *sample) {})[:7], true); flat {
		t.Errorf("seven samples are flat: %s", text)
	}
}

func TestBench_SoakSamples_WrittenAsCSVAndSVG(t *testing.T) {
	t.Parallel()
	taken := hour(func(int, *sample) {})
	rows, err := csv.NewReader(strings.NewReader(asCSV(taken))).ReadAll()
	if err != nil || len(rows) != len(taken)+1 || len(rows[0]) != len(watched)+1 || rows[3][0] != "60" {
		t.Errorf("the table has %d rows, %v", len(rows), err)
	}
	decoder, lines := xml.NewDecoder(strings.NewReader(asSVG(taken))), 0
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if element, is := token.(xml.StartElement); is && element.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != len(watched) {
		t.Errorf("the picture has %d lines", lines)
	}
}
