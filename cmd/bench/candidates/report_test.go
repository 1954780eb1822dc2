package candidates

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func found(of kind, query string, trees int, used string, ratio float64) result {
	return result{Kind: of, Query: query, Trees: trees, Used: used, Ratio: ratio, Milliseconds: ratio / 10, BaselineMilliseconds: 0.1}
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
		found(latency, "flat", 100000, "0 %", 3), found(latency, "flat", 100000, "99 %", 3.9),
		found(throughput, "flat", 100000, "0 %", 0.4), found(throughput, "flat", 100000, "50 %", 0.2),
		found(latency, "nested", 100000, "0 %", 3),
		{Kind: latency, Query: "nested", Trees: 100000, Used: "50 %", Error: "404"},
		found(random, "flat", 1000, "0 %", 1.1), found(random, "nested", 1000, "0 %", 1.3),
	})
	for _, expected := range []verdict{
		{"flat, in F", "flat", 4, 3.9, "100000 trees, 99 % used up", met},
		{"throughput of 8 clients, part of F's", "flat", 0.25, 0.2, "100000 trees, 50 % used up", missed},
		{"throughput of 8 clients, part of F's", "nested", 0.125, 0, "", notMeasured},
		{"random order, in ordinary ones", "flat", 1.2, 1.1, "1000 trees, 0 % used up", met},
		{"random order, in ordinary ones", "nested", 1.2, 1.3, "1000 trees, 0 % used up", missed},
		{"no limit, in readings of all rows", "any", 2, 0, "", notMeasured},
	} {
		if judged := verdictOf(t, verdicts, expected.Target, expected.Query); judged != expected {
			t.Errorf("%+v instead of %+v", judged, expected)
		}
	}
	if judged := verdictOf(t, verdicts, "nested, in F", "nested"); judged.Outcome != failed {
		t.Errorf("an error was judged %s", judged.Outcome)
	}
}

func TestBench_Targets_NameExistingQueries(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, one := range queries() {
		known[one.name] = true
	}
	for _, one := range targets {
		for _, name := range append(one.queries, one.except...) {
			if !known[name] {
				t.Errorf("%s: there is no query %q", one.name, name)
			}
		}
	}
}

func TestBench_Growth_ComparesSmallestAndLargestCloud(t *testing.T) {
	t.Parallel()
	all := growths([]result{
		found(latency, "flat", 1000, "0 %", 2), found(latency, "flat", 10000, "0 %", 9), found(latency, "flat", 100000, "0 %", 20),
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
		{Kind: latency, Query: "wide", Trees: 10, Ratio: 1, Milliseconds: 1, singleSize: true},
		{Kind: latency, Query: "nic", Trees: 1000, Error: "404"},
	})
	decoder := xml.NewDecoder(strings.NewReader(drawn))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if lines := strings.Count(drawn, `class="line`); lines != 3 {
		t.Errorf("%d lines instead of two and F's", lines)
	}
	for _, absent := range []string{"wide", "nic", "NaN", "Inf"} {
		if strings.Contains(drawn, absent) {
			t.Errorf("%s is drawn", absent)
		}
	}
	if empty := plot(nil); !strings.HasPrefix(empty, "<svg") {
		t.Errorf("nothing measured: %s", empty)
	}
}
