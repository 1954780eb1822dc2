package server_test

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// metricFamily is the series of one metric; those of a histogram include its buckets, sum and count.
type metricFamily struct {
	kind    string
	samples []sample
}

// sample is one line of a scrape. Its name has the suffix of a part of a histogram.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

// sampleLabel matches a label and its value, which stays escaped.
var sampleLabel = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

// metrics returns the metrics of a scrape by their names. Prometheus' own parser must accept the text, too.
func (s *service) metrics() map[string]*metricFamily {
	s.t.Helper()
	text := s.get("/metrics").Body.Bytes()
	if _, err := promlint.New(bytes.NewReader(text)).Lint(); err != nil {
		s.t.Fatal(err)
	}
	families := map[string]*metricFamily{}
	var current *metricFamily
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if declared, isType := strings.CutPrefix(line, "# TYPE "); isType {
			name, kind, _ := strings.Cut(declared, " ")
			current = &metricFamily{kind: kind}
			families[name] = current
		} else if !strings.HasPrefix(line, "#") {
			current.samples = append(current.samples, parseSample(s.t, line))
		}
	}
	return families
}

func parseSample(t *testing.T, line string) sample {
	t.Helper()
	space := strings.LastIndex(line, " ")
	name, labels, _ := strings.Cut(line[:space], "{")
	parsed := sample{name: name, labels: map[string]string{}}
	for _, label := range sampleLabel.FindAllStringSubmatch(labels, -1) {
		parsed.labels[label[1]] = label[2]
	}
	var err error
	if parsed.value, err = strconv.ParseFloat(line[space+1:], 64); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return parsed
}

// value returns the value of one series, of a histogram its number of observations. labels are pairs of name and value.
func value(t *testing.T, families map[string]*metricFamily, name string, labels ...string) float64 {
	t.Helper()
	var samples []sample
	if family := families[name]; family != nil {
		samples = family.samples
	}
	for _, sample := range samples {
		if (sample.name == name || sample.name == name+"_count") && sample.has(labels) {
			return sample.value
		}
	}
	t.Errorf("no series %s%v", name, labels)
	return -1
}

// has reports whether a sample has the labels, which are pairs of name and value.
func (s sample) has(labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		if s.labels[labels[i]] != labels[i+1] {
			return false
		}
	}
	return true
}
