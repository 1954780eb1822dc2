// Package auditlog writes the audit log: one line of JSON for each write request, with
// the caller, the target, the generations and the outcome.
//
// It is not for reads, nor for the state changes that conductors make on their own.
// Package server decides which requests have a record and fills in what HTTP knows;
// operations add the generations.
package auditlog

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// MaxLine is the largest size of a line in bytes, its line feed included. The sizes of
// the members add up to less.
const MaxLine = 8 << 10

// maxGenerations bounds each list of generations in a line.
const maxGenerations = 16

// The phases of a line.
const (
	// PhaseBegin is written before the operation runs, with Options.Required only.
	PhaseBegin = "begin"
	// PhaseEnd is written when the outcome is known, before the response is sent.
	PhaseEnd = "end"
)

// The outcomes of a write.
const (
	Success  = "success"
	Conflict = "conflict"
	Denied   = "denied"
	Invalid  = "invalid"
	NotFound = "not_found"
	// Rejected: a limit, the audit log or an unreachable database kept the write from
	// being made.
	Rejected = "rejected"
	// Failed: the server failed, with the status 500.
	Failed = "error"
	// Unknown: the write was sent to the database and its result did not come back.
	Unknown = "unknown"
)

// Record is one line of the audit log. One goroutine at a time may use it. Texts are
// bounded by the code that sets them.
type Record struct {
	Time             string   `json:"time"`
	Phase            string   `json:"phase"`
	RequestID        string   `json:"request_id"`
	GlobalRequestID  string   `json:"global_request_id,omitempty"`
	Client           string   `json:"client,omitempty"`
	AuthMethod       string   `json:"auth_method"`
	TokenID          string   `json:"token_id,omitempty"`
	Subject          string   `json:"subject,omitempty"`
	Scope            string   `json:"scope"`
	UserID           string   `json:"user_id"`
	UserDomainID     string   `json:"user_domain_id,omitempty"`
	ProjectID        string   `json:"project_id,omitempty"`
	ProjectDomainID  string   `json:"project_domain_id,omitempty"`
	DomainID         string   `json:"domain_id,omitempty"`
	ServiceUserID    string   `json:"service_user_id,omitempty"`
	ServiceProjectID string   `json:"service_project_id,omitempty"`
	Roles            []string `json:"roles,omitempty"`
	RolesOmitted     int      `json:"roles_omitted,omitempty"`

	API          string            `json:"api"`
	Microversion string            `json:"microversion,omitempty"`
	Operation    string            `json:"operation,omitempty"`
	Method       string            `json:"method"`
	Route        string            `json:"route,omitempty"`
	Target       map[string]string `json:"target,omitempty"`
	Path         string            `json:"path,omitempty"`

	// DryRun: the server rolled the write back. The other members are those of the write.
	DryRun    bool   `json:"dry_run,omitempty"`
	Status    int    `json:"status,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	ErrorCode string `json:"error_code,omitempty"`
	// Replayed: the response is that of an earlier request with the same Idempotency-Key, and this one changed nothing.
	Replayed         bool         `json:"idempotent_replayed,omitempty"`
	Location         string       `json:"location,omitempty"`
	Providers        []Generation `json:"providers,omitempty"`
	ProvidersOmitted int          `json:"providers_omitted,omitempty"`
	Consumers        []Generation `json:"consumers,omitempty"`
	ConsumersOmitted int          `json:"consumers_omitted,omitempty"`
}

// Generation is what a write did to the generation of a resource provider or consumer.
type Generation struct {
	UUID uuid.UUID `json:"uuid"`
	// Sent is the generation in a request that did not succeed.
	Sent *int64 `json:"sent,omitempty"`
	// Before and After are those of a write that succeeded, nil where they are not known.
	Before *int64 `json:"before,omitempty"`
	After  *int64 `json:"after,omitempty"`
	// Removed: the write deleted it.
	Removed bool `json:"removed,omitempty"`
}

// Provider adds what a write did to a resource provider. It does nothing on nil, which
// is the record of a request without one.
func (r *Record) Provider(of Generation) {
	if r != nil {
		add(&r.Providers, &r.ProvidersOmitted, of)
	}
}

// Consumer adds what a write did to a consumer. It does nothing on nil.
func (r *Record) Consumer(of Generation) {
	if r != nil {
		add(&r.Consumers, &r.ConsumersOmitted, of)
	}
}

func add(list *[]Generation, omitted *int, of Generation) {
	if len(*list) == maxGenerations {
		*omitted++
		return
	}
	*list = append(*list, of)
}

// encode returns the line at a point in time, with its line feed.
func (r *Record) encode(phase string, at time.Time) []byte {
	r.Phase, r.Time = phase, at.UTC().Format(timeFormat)
	return encodeLine(r)
}

// timeFormat is the form of the time of a line, in UTC.
const timeFormat = "2006-01-02T15:04:05.000000Z"

type key struct{}

// With returns a context with the record of the request.
func With(ctx context.Context, record *Record) context.Context {
	return context.WithValue(ctx, key{}, record)
}

// From returns the record of the request, nil if there is none.
func From(ctx context.Context) *Record {
	record, _ := ctx.Value(key{}).(*Record)
	return record
}
