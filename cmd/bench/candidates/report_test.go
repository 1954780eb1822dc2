package candidates

import (
	"bufio"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
)

// found is a result with the usual limit, whose CPU time is that of its latency.
func found(of kind, query string, trees int, used string, ratio float64) result {
	return limited(of, query, few, trees, used, ratio)
}

func limited(of kind, query string, limit, trees int, used string, ratio float64) result {
	return result{
		Kind: of, Query: query, Limit: limit, Trees: trees, Used: used, Ratio: ratio, BaselineMilliseconds: 0.1,
		measurement: measurement{Milliseconds: ratio / 10, CPU: cpuTime{Postgres: ratio / 20, Server: ratio / 20}},
	}
}

func verdictOf(t *testing.T, all []verdict, target, query string) verdict {
	t.Helper()
	for _, one := range all {
		if one.Target == target && one.Query == query {
			return one
		}
	}
	t.Fatalf("no verdict on %s of %s", target, query)
	return verdict{}
}

func TestBench_Targets_UseTheWorstFigureOfTheLargestCloud(t *testing.T) {
	t.Parallel()
	verdicts := judge([]result{
		found(latency, "flat", 1000, "0 %", 50),
		found(latency, "flat", 100000, "0 %", 3), found(latency, "flat", 100000, "50 %", 9), found(latency, "flat", 100000, "99 %", 6),
		found(throughput, "flat", 100000, "0 %", 0.4), found(throughput, "flat", 100000, "50 %", 0.2),
		found(latency, "nested", 100000, "0 %", 3),
		{Kind: latency, Query: "nested", Limit: few, Trees: 100000, Used: "99 %", Error: "404"},
		found(coldFirst, "flat", 1000, "0 %", 9), found(coldFirst, "nested", 1000, "0 %", 12),
	})
	for _, expected := range []verdict{
		{"nothing used up, in F", "flat", few, 5, 3, "100000 trees, 0 % used up", met},
		{"99 % used up, in queries at 0 %", "flat", few, 1.5, 2, "100000 trees, 99 % used up", missed},
		{"throughput of 8 clients, part of F's", "flat", few, 0.25, 0.2, "100000 trees, 50 % used up", missed},
		{"throughput of 8 clients, part of F's", "nested", few, 1.0 / 6, 0, "", notMeasured},
		{"first request without statistics, in warm ones", "flat", few, 10, 9, "1000 trees, 0 % used up", met},
		{"first request without statistics, in warm ones", "nested", few, 10, 12, "1000 trees, 0 % used up", missed},
		{"later requests without statistics, in warm ones", "any", few, 10, 0, "", notMeasured},
		{"no limit, in readings of all rows", "flat", 0, 3, 0, "", notMeasured},
	} {
		if judged := verdictOf(t, verdicts, expected.Target, expected.Query); judged != expected {
			t.Errorf("%+v instead of %+v", judged, expected)
		}
	}
	if judged := verdictOf(t, verdicts, "99 % used up, in queries at 0 %", "nested"); judged.Outcome != failed {
		t.Errorf("an error was judged %s", judged.Outcome)
	}
}

func TestBench_Targets_CompareTheSameLimitSizeAndUtilization(t *testing.T) {
	t.Parallel()
	verdicts := judge([]result{
		found(latency, "nested", 1000, "0 %", 10), found(latency, "nested", 1000, "50 %", 5),
		limited(latency, "nested", many, 1000, "0 %", 100),
		found(latency, "shared", 1000, "0 %", 12), found(latency, "shared", 1000, "50 %", 7), found(latency, "shared", 1000, "99 %", 90),
		limited(latency, "nic", many, 1000, "0 %", 200),
	})
	if judged, expected := verdictOf(t, verdicts, "in plain nested queries", "shared"),
		(verdict{"in plain nested queries", "shared", few, 1.5, 1.4, "1000 trees, 50 % used up", met}); judged != expected {
		t.Errorf("%+v instead of %+v", judged, expected)
	}
	for _, judged := range verdicts {
		if judged.Query == "nic" && judged.RequestLimit == many && (judged.Value != 2 || judged.Outcome != missed) {
			t.Errorf("%+v instead of twice the plain one", judged)
		}
	}
}

func TestBench_TargetsOfOneSize_IgnoreOthers(t *testing.T) {
	t.Parallel()
	of := []result{
		limited(latency, "nested", manyNested, 10000, "0 %", 300), limited(latency, "nested", manyNested, 100000, "0 %", 900),
		limited(latency, "flat", many, 1000, "0 %", 300), found(latency, "pci-9-on-8", 10000, "0 %", 2),
	}
	verdicts := judge(of)
	if judged := verdictOf(t, verdicts, "CPU of PostgreSQL and Go, ms", "nested"); judged.Value != 30 || judged.Outcome != met {
		t.Errorf("%+v instead of 30 ms", judged)
	}
	for target, query := range map[string]string{"CPU of PostgreSQL and Go, ms": "flat", "9 groups on 8 devices, ms": "pci-9-on-8"} {
		if judged := verdictOf(t, verdicts, target, query); judged.Outcome != notMeasured {
			t.Errorf("%+v without the size of the target", judged)
		}
	}
}

func TestBench_Targets_NameExistingQueries(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, one := range queries() {
		for _, row := range one.rows() {
			known[label(row.name, row.limit)] = true
		}
		if one.unlimited {
			known[label(one.name, 0)] = true
		}
	}
	for _, one := range targets {
		for _, name := range one.queries {
			if !known[label(name, one.limit)] {
				t.Errorf("%s: there is no row %q", one.name, label(name, one.limit))
			}
			if one.besideQuery != "" && !known[label(one.besideQuery, one.limit)] {
				t.Errorf("%s: there is no row %q", one.name, label(one.besideQuery, one.limit))
			}
		}
	}
}

func TestBench_Growth_ComparesSmallestAndLargestCloud(t *testing.T) {
	t.Parallel()
	all := growths([]result{
		found(latency, "flat", 1000, "0 %", 2), found(latency, "flat", 10000, "0 %", 9), found(latency, "flat", 100000, "0 %", 20),
		limited(latency, "flat", many, 1000, "0 %", 2), limited(latency, "flat", many, 100000, "0 %", 2),
		found(latency, "pci-16-thousand", 10, "0 %", 20),
	})
	if len(all) != 1 || math.Abs(all[0].Ratio-0.5) > 1e-9 || all[0].Query != "flat" {
		t.Errorf("ten times as much for a hundred times as many: %+v", all)
	}
}

func TestBench_CountCandidates_OfAResponse(t *testing.T) {
	t.Parallel()
	for answer, expected := range map[string]int{
		`{"allocation_requests": [], "provider_summaries": {}}`:                                 0,
		`{"provider_summaries": {"a": {"b": []}}, "allocation_requests": [{"a": 1}, {"b": 2}]}`: 2,
	} {
		if counted, err := countIn(strings.NewReader(answer)); counted != expected || err != nil {
			t.Errorf("%s: %d, %v", answer, counted, err)
		}
	}
	if _, err := countIn(strings.NewReader(`{"allocation_requests": [{"a": 1}], "provider_`)); err == nil {
		t.Error("half an answer passes for a whole one")
	}
}

func TestBench_Plot_IsXMLWithALineForEachQuery(t *testing.T) {
	t.Parallel()
	drawn := plot([]result{
		found(latency, "flat", 1000, "0 %", 2), found(latency, "flat", 1000, "50 %", 3), found(latency, "flat", 100000, "0 %", 20),
		found(latency, "nested", 1000, "0 %", 2), found(latency, "nested", 100000, "0 %", 2),
		limited(latency, "shared", many, 1000, "0 %", 2),
		{Kind: latency, Query: "wide", Limit: few, Trees: 10, Ratio: 1, measurement: measurement{Milliseconds: 1}, singleSize: true},
		{Kind: latency, Query: "nic", Limit: few, Trees: 1000, Error: "404"},
	})
	checkXML(t, drawn)
	if lines := strings.Count(drawn, `class="line`); lines != 3 {
		t.Errorf("%d lines instead of two and F's", lines)
	}
	for _, absent := range []string{"wide", "nic", "shared", "NaN", "Inf"} {
		if strings.Contains(drawn, absent) {
			t.Errorf("%s is drawn", absent)
		}
	}
	if empty := plot(nil); !strings.HasPrefix(empty, "<svg") {
		t.Errorf("nothing measured: %s", empty)
	}
}

func checkXML(t *testing.T, drawn string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(drawn))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestBench_CPUPlot_HasAStackForEachRowAndProgram(t *testing.T) {
	t.Parallel()
	of := []result{
		limited(latency, "flat", many, 1000, "0 %", 10), limited(latency, "flat", many, 10000, "0 %", 110),
		limited(latency, "flat", many, 100000, "0 %", 1000), limited(latency, "flat", many, 10000, "99 %", 7),
		limited(latency, "nested", manyNested, 10000, "0 %", 370), found(latency, "nested", 10000, "0 %", 3),
		{Kind: latency, Query: "nic", Limit: many, Trees: 10000, Used: "0 %", Error: "404"},
	}
	alone := plotCPU(of)
	checkXML(t, alone)
	for text, count := range map[string]int{`class="postgresql" x=`: 3, `class="value"`: 2, ">11<": 1, ">37<": 1, "10,000 trees": 1, "older version": 0, "NIC": 0} {
		if found := strings.Count(alone, text); found != count {
			t.Errorf("%q is drawn %d times instead of %d", text, found, count)
		}
	}
	of[4].Against = &measurement{CPU: cpuTime{Postgres: 40, Server: 20}}
	both := plotCPU(of)
	checkXML(t, both)
	if stacks := strings.Count(both, `class="value"`); stacks != 3 || !strings.Contains(both, "older version") {
		t.Errorf("%d stacks instead of 3", stacks)
	}
	if empty := plotCPU(nil); !strings.HasPrefix(empty, "<svg") {
		t.Errorf("nothing measured: %s", empty)
	}
}

func TestBench_Scale_HasFewRoundSteps(t *testing.T) {
	t.Parallel()
	for highest, expected := range map[float64]linearScale{60: {10, 60}, 61: {10, 70}, 71: {20, 80}, 3.2: {0.5, 3.5}, 0: {0.002, 0.01}} {
		scale := newScale(highest)
		if math.Abs(scale.step-expected.step) > 1e-9 || math.Abs(scale.top-expected.top) > 1e-9 {
			t.Errorf("%g: %+v instead of %+v", highest, scale, expected)
		}
	}
}

func TestBench_Difference_NamesTheFirstByte(t *testing.T) {
	t.Parallel()
	compare := func(a, b string) (int64, error) {
		return difference(bufio.NewReader(strings.NewReader(a)), bufio.NewReader(strings.NewReader(b)))
	}
	if equal, err := compare("abc", "abc"); equal != 3 || err != nil {
		t.Errorf("equal responses: %d, %v", equal, err)
	}
	for _, other := range []string{"abX", "ab", "abcd"} {
		if equal, err := compare("abc", other); err == nil || equal > 3 {
			t.Errorf("%q: %d, %v", other, equal, err)
		}
	}
}

func TestBench_CPUTime_IsTheMeanOfAllRequests(t *testing.T) {
	t.Parallel()
	of := samples{
		{rig.Figures{Requests: 1}, 10 * time.Millisecond, 2 * time.Millisecond},
		{rig.Figures{Requests: 3}, 10 * time.Millisecond, 2 * time.Millisecond},
	}
	if cost := of.cpu(); cost != (cpuTime{5, 1}) || cost.sum() != 6 {
		t.Errorf("CPU time = %+v", cost)
	}
}

func TestBench_Report_NamesDifferentResponses(t *testing.T) {
	t.Parallel()
	other := found(comparison, "flat", 1000, "0 %", 0)
	other.Error = "the responses differ after 3 bytes"
	var out strings.Builder
	if err := (report{Results: []result{other}}).table(&out); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"1 responses differ", "after 3 bytes"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), text) {
			t.Errorf("%q is missing in\n%s", text, out.String())
		}
	}
}

func TestBench_ContradictorySettings_AreErrors(t *testing.T) {
	t.Parallel()
	for _, one := range []settings{
		{rounds: 1, compare: true},
		{rounds: 1, plots: "report_test.go"},
		{},
	} {
		if err := one.parse("1000", "0", ""); err == nil {
			t.Errorf("%+v is no error", one)
		}
	}
	valid := settings{rounds: 1, compare: true, against: "berth", plots: "."}
	if err := valid.parse("1000", "0", ""); err != nil {
		t.Error(err)
	}
}
