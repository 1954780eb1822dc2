package config

import (
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server/observe/auditlog"
)

// ObservabilitySettings holds the settings of metrics, traces and logs.
type ObservabilitySettings struct {
	LogFile          string
	AuditLog         auditlog.Options
	SlowQuery        time.Duration
	PostgresInterval time.Duration
	CapacityInterval time.Duration
	AdminListen      string
	AdminPprof       bool
	PublicMetrics    bool
	ReadinessPool    time.Duration
	TraceEndpoint    string
	TraceSampleRatio float64
}

func (s *ObservabilitySettings) table() []setting.Setting {
	return []setting.Setting{
		{Name: "log-file", Fallback: "", Scope: ForServer, Value: setting.Text(&s.LogFile),
			Help: "log `file` instead of standard error; Berth reopens it after logrotate moves or removes it. It also receives startup errors, the reason of the exit, and crashes"},
		{Name: "audit-log", Fallback: "", Scope: ForServer, Value: setting.Text(&s.AuditLog.Path),
			Help: "audit log `file`, one JSON line per write request; - means standard output. SIGHUP reopens it. Default: no audit log"},
		{Name: "audit-log-required", Fallback: "false", Scope: ForServer, Value: setting.Boolean(&s.AuditLog.Required),
			Help: "whether a write gets 503, before it runs, if its line cannot be written to --audit-log; if false, Berth counts the line as lost and runs the write"},
		{Name: "slow-query-threshold", Fallback: "500ms", Scope: ForServer, Value: setting.Duration(&s.SlowQuery, 0, time.Hour),
			Help: "`duration` above which a statement is logged, by name and without its arguments; 0 disables it"},
		{Name: "metrics-postgres-interval", Fallback: "15s", Scope: ForServer, Value: setting.Duration(&s.PostgresInterval, 0, 24*time.Hour),
			Help: "minimum `interval` between runs of the collector of PostgreSQL's state for /metrics; 0 disables it"},
		{Name: "metrics-capacity-interval", Fallback: "30s", Scope: ForServer, Value: setting.Duration(&s.CapacityInterval, 0, 24*time.Hour),
			Help: "minimum `interval` between runs of the collector of capacity and usage by resource class for /metrics, which reads the whole table of inventories; " +
				"0 disables it"},
		{Name: "admin-listen", Fallback: "", Scope: ForServer, Value: setting.OptionalAddress(&s.AdminListen),
			Help: "listen `address` and port of /metrics, /livez, /readyz and the profiles of /debug/pprof, which require no authentication. " +
				"Berth serves profiles only on a loopback address or with --admin-pprof. Default: none"},
		{Name: "admin-pprof", Fallback: "false", Scope: ForServer, Value: setting.Boolean(&s.AdminPprof),
			Help: "whether /debug/pprof is served if --admin-listen is not a loopback address; profiles show the command line and use CPU time"},
		{Name: "public-metrics", Fallback: "true", Scope: ForServer, Value: setting.Boolean(&s.PublicMetrics),
			Help: "whether /metrics is served on --listen too; if false, only on --admin-listen"},
		{Name: "readiness-pool-timeout", Fallback: "10s", Scope: ForServer, Value: setting.Duration(&s.ReadinessPool, 0, time.Hour),
			Help: "`time` after which /readyz returns 503 while requests wait for pool connections and none acquires one; 0 means never"},
		{Name: "trace-endpoint", Fallback: "", Scope: ForServer, Value: optionalURL(&s.TraceEndpoint),
			Help: "`URL` of an OpenTelemetry collector that accepts OTLP over HTTP, such as http://127.0.0.1:4318. " +
				"Default: OTEL_EXPORTER_OTLP_ENDPOINT; if that is empty too, Berth exports no traces"},
		{Name: "trace-sample-ratio", Fallback: "1", Scope: ForServer, Value: ratio(&s.TraceSampleRatio),
			Help: "sampling `ratio` of traces, from 0 to 1; the sampling decision of a client takes precedence"},
	}
}

// validateCombination returns an error for each rule over several of these settings that is
// broken.
func (s *ObservabilitySettings) validateCombination(find func(name string) setting.Setting) []error {
	required := find("audit-log-required")
	if !s.AuditLog.Required || s.AuditLog.Path != "" {
		return nil
	}
	return []error{&frame.InputError{Setting: required.Name, Value: required.Text, Origin: required.Origin, Rule: frame.Rule{
		Broken: "requires an audit log, but none is set", Remedy: "set --audit-log (BERTH_AUDIT_LOG) as well"}}}
}

func optionalURL(field *string) setting.Reader {
	return setting.Reader{Kind: "URL", Read: func(text string) *frame.Rule {
		at, err := url.Parse(text)
		if text != "" && (err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https") {
			return &frame.Rule{Broken: "is not the URL of a collector", Remedy: "write one with its port, such as http://127.0.0.1:4318"}
		}
		*field = text
		return nil
	}}
}

func ratio(field *float64) setting.Reader {
	return setting.Reader{Kind: "part", Read: func(text string) *frame.Rule {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || !(value >= 0 && value <= 1) { // also what is not a number
			return &frame.Rule{Broken: "is not a number from 0 to 1", Remedy: "write a part of the whole, such as 0.05"}
		}
		*field = value
		return nil
	}}
}

// Profiles reports whether profiles are served at an address: other hosts cannot reach it, or
// --admin-pprof is true. The address is one to which a name was resolved.
func (s *ObservabilitySettings) Profiles(at net.Addr) bool {
	return s.AdminPprof || setting.IsLoopback(at.String())
}
