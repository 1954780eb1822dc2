package main

import (
	"net/url"
	"strconv"
	"time"
)

// watchSettings are for those who watch the service: metrics, traces and logs.
type watchSettings struct {
	LogFile          string
	SlowQuery        time.Duration
	PostgresInterval time.Duration
	CapacityInterval time.Duration
	AdminListen      string
	PublicMetrics    bool
	TraceEndpoint    string
	TraceSampleRatio float64
}

func (s *watchSettings) table() []setting {
	return []setting{
		{name: "log-file", fallback: "", scope: forServer, value: text(&s.LogFile),
			help: "`file` for the log instead of standard error; one that is moved away or removed, as logrotate does, is opened anew"},
		{name: "slow-query-threshold", fallback: "500ms", scope: forServer, value: duration(&s.SlowQuery, 0, time.Hour),
			help: "`time` after which the log tells of a statement, by its name and never with its values; 0 means never"},
		{name: "metrics-postgres-interval", fallback: "15s", scope: forServer, value: duration(&s.PostgresInterval, 0, 24*time.Hour),
			help: "least `time` between two looks of /metrics at how PostgreSQL is doing; 0 means that it never looks"},
		{name: "metrics-capacity-interval", fallback: "30s", scope: forServer, value: duration(&s.CapacityInterval, 0, 24*time.Hour),
			help: "least `time` between two looks of /metrics at capacity and usage by resource class, which read the whole table of inventories; " +
				"0 means that it never looks"},
		{name: "admin-listen", fallback: "", scope: forServer, value: optionalAddress(&s.AdminListen),
			help: "`address` and port for /metrics, /livez, /readyz and the profiles of /debug/pprof, without tokens: not for everybody. Empty means none"},
		{name: "public-metrics", fallback: "true", scope: forServer, value: boolean(&s.PublicMetrics),
			help: "serve /metrics where the APIs are as well; false leaves it to --admin-listen"},
		{name: "trace-endpoint", fallback: "", scope: forServer, value: optionalURL(&s.TraceEndpoint),
			help: "`URL` of an OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; " +
				"empty means OTEL_EXPORTER_OTLP_ENDPOINT, and no traces where that is not set"},
		{name: "trace-sample-ratio", fallback: "1", scope: forServer, value: ratio(&s.TraceSampleRatio),
			help: "`part` of the traces that is recorded, from 0 to 1; a client's decision about its own trace comes first"},
	}
}

func optionalURL(field *string) reader {
	return reader{kind: "URL", read: func(text string) *rule {
		at, err := url.Parse(text)
		if text != "" && (err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https") {
			return &rule{"is not the URL of a collector", "write one with its port, such as http://127.0.0.1:4318"}
		}
		*field = text
		return nil
	}}
}

func ratio(field *float64) reader {
	return reader{kind: "part", read: func(text string) *rule {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || !(value >= 0 && value <= 1) { // also what is not a number
			return &rule{"is not a number from 0 to 1", "write a part of the whole, such as 0.05"}
		}
		*field = value
		return nil
	}}
}
