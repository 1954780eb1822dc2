package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Observability configures metrics, probes, traces and logs.
type Observability struct {
	// Version and Revision identify this berth in the metrics.
	Version, Revision string
	// Draining is closed when the server starts to drain: /readyz reports that from then on, so that load
	// balancers send requests to other servers. Nil: never.
	Draining <-chan struct{}
	// Starved is the time without a connection for any request after which /readyz reports that the server
	// is not ready; 0: never.
	Starved time.Duration
	// Spans creates a span for each request; nil: none.
	Spans trace.Tracer
	// OsloRequestLines writes the access log in the format of OpenStack services.
	OsloRequestLines bool
	// PostgresInterval and CapacityInterval are the minimum intervals between two collector queries of the
	// state of PostgreSQL, and of the capacity of each resource class. 0 disables the metrics.
	PostgresInterval, CapacityInterval time.Duration
	// Tokens returns the numbers of token validations by result; nil: tokens are not validated.
	Tokens func() map[string]int64
	// Authentication is the collector of an authentication method other than Keystone; nil: none.
	Authentication prometheus.Collector
	// LogLinesLost returns the number of log lines that could not be written, and EmbeddedRestarts the
	// number of restarts of the embedded PostgreSQL. Nil: there is no such metric.
	LogLinesLost, EmbeddedRestarts func() int64
	// Validations returns the numbers of current token validations by state; nil: there is no such metric.
	Validations func() map[string]int64
	// PublicMetrics serves /metrics through Handlers.Public too.
	PublicMetrics bool
	// Profiles serves /debug/pprof through Handlers.Admin.
	Profiles bool
}
