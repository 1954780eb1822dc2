package server

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Watch says what is told to those who watch the service.
type Watch struct {
	// Version and Revision say which berth this is, for the metrics.
	Version, Revision string
	// Schema compares the database with the program, for /readyz; nil: any is good.
	Schema func(context.Context) (SchemaState, error)
	// Draining is closed when the service is about to end: /readyz says so from then
	// on, so that load balancers send their requests elsewhere. Nil: never.
	Draining <-chan struct{}
	// Spans makes a span for each request; nil: none are made.
	Spans trace.Tracer
	// OsloRequestLines writes the access log in the words of OpenStack's services.
	OsloRequestLines bool
	// PostgresInterval and CapacityInterval are the least time between two looks at
	// how PostgreSQL is doing, and at how much there is of each resource class. 0:
	// /metrics does not tell.
	PostgresInterval, CapacityInterval time.Duration
	// Admin is given what serves those who watch, profiles included, on an address
	// of their own; nil: there is none.
	Admin func(http.Handler)
	// Tokens counts how tokens were found out about, by how; nil: nobody is asked.
	Tokens func() map[string]int64
	// HideMetrics leaves /metrics to Admin.
	HideMetrics bool
}

// SchemaState is what a database can be to a program.
type SchemaState string

// What a database can be to a program. A newer one is served: that is how a rolling
// upgrade looks from the old side.
const (
	SchemaUpToDate SchemaState = "up to date"
	SchemaNewer    SchemaState = "newer"
	SchemaBehind   SchemaState = "behind"
)
