package server

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/observe/requestlog"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/request"
)

// The maximum sizes of members of an audit record besides maxID and maxPath, in bytes as JSON. Their sum
// keeps a line below auditlog.MaxLine.
const (
	maxRoles    = 12
	maxTarget   = 256
	maxLocation = 512
)

// auditRetryAfter is the Retry-After of a write that failed because of the audit log.
const auditRetryAfter = 5 * time.Second

// auditRecord returns the record of a write request, nil for other requests and without
// an audit log.
func (f *frontHandler) auditRecord(r *http.Request) *auditlog.Record {
	if f.audit == nil {
		return nil
	}
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return &auditlog.Record{}
	default:
		return nil
	}
}

// beginAudit returns the function that writes the first line of a write if that line is required,
// otherwise nil.
func beginAudit(log *auditlog.Log) func(*http.Request) error {
	if log == nil || !log.Required() {
		return nil
	}
	return func(r *http.Request) error {
		record := auditlog.From(r.Context())
		if record == nil {
			return nil
		}
		describe(record, request.From(r.Context()))
		if err := log.Begin(record); err != nil {
			rejected := fault.New(fault.Unavailable,
				"The audit log cannot be written, and the server makes no changes without it. Nothing was changed; retry the request.").
				WithOwn(fault.CodeAuditUnavailable)
			rejected.RetryAfter = auditRetryAfter
			return rejected
		}
		return nil
	}
}

// endAudit writes the line of a request with its status; 0: there was no response. Unauthenticated
// requests have no line, because they could fill the disk. Requests that only read, with any method, have none either.
func (f *frontHandler) endAudit(w *responseRecorder, record *auditlog.Record, status int, trips int64) {
	if !w.admitted || w.info.ReadOnly {
		return
	}
	describe(record, w.info)
	status = cmp.Or(w.info.Would, status)
	record.Status, record.ErrorCode = status, w.info.ErrorCode
	record.Replayed = w.Header().Get("Idempotent-Replayed") != ""
	record.Outcome = outcomeOf(w.info, status, trips)
	record.Location = requestlog.Bounded(w.Header().Get("Location"), maxLocation)
	f.audit.End(record)
}

// describe sets the caller and the target of the record.
func describe(record *auditlog.Record, info *request.Info) {
	id := func(text string) string { return requestlog.Bounded(text, maxID) }
	caller := auth.From(info.HTTP.Context())
	record.RequestID, record.GlobalRequestID, record.Client = info.ID, info.GlobalID, id(info.Client)
	record.AuthMethod, record.TokenID, record.Scope = caller.Method, id(caller.TokenID), caller.Scope()
	record.Subject = id(caller.Subject)
	record.UserID, record.UserDomainID = id(caller.UserID), id(caller.UserDomainID)
	record.ProjectID, record.ProjectDomainID = id(caller.ProjectID), id(caller.ProjectDomainID)
	record.DomainID = id(caller.DomainID)
	record.ServiceUserID, record.ServiceProjectID = id(caller.Service.UserID), id(caller.Service.ProjectID)
	record.Roles, record.RolesOmitted = nil, max(0, len(caller.Roles)-maxRoles)
	for _, role := range caller.Roles[:len(caller.Roles)-record.RolesOmitted] {
		record.Roles = append(record.Roles, id(role))
	}
	record.API, record.Microversion = cmp.Or(info.Service, "placement"), info.Microversion
	record.Operation, record.Method, record.Route = info.Operation, info.HTTP.Method, info.Route
	record.DryRun = info.DryRun
	if record.Route == "" {
		record.Path = requestlog.Bounded(info.HTTP.URL.Path, maxPath)
		return
	}
	record.Target = map[string]string{}
	for segment := range strings.SplitSeq(record.Route, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			record.Target[name] = requestlog.Bounded(info.HTTP.PathValue(name), maxTarget)
		}
	}
}

// outcomeOf maps the status of a write to its outcome. If a request times out after it has reached the
// database, its 503 does not determine the outcome of the write.
func outcomeOf(info *request.Info, status int, trips int64) string {
	switch {
	case status == 0:
		return auditlog.Unknown
	case status < http.StatusBadRequest:
		return auditlog.Success
	case status == http.StatusForbidden:
		return auditlog.Denied
	case status == http.StatusNotFound:
		return auditlog.NotFound
	case status == http.StatusConflict:
		return auditlog.Conflict
	case status == http.StatusServiceUnavailable && !info.DryRun && (info.OutcomeUnknown || trips > 0 && info.HTTP.Context().Err() != nil):
		return auditlog.Unknown
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return auditlog.Rejected
	case status >= http.StatusInternalServerError:
		return auditlog.Failed
	default:
		return auditlog.Invalid
	}
}

// auditCollector exports the numbers of written and lost lines.
type auditCollector struct{ log *auditlog.Log }

var auditLines = prometheus.NewDesc("berth_audit_log_lines_total",
	"Number of audit log lines by outcome: written or lost.", []string{"outcome"}, nil)

// Describe implements prometheus.Collector.
func (c auditCollector) Describe(into chan<- *prometheus.Desc) { into <- auditLines }

// Collect implements prometheus.Collector.
func (c auditCollector) Collect(into chan<- prometheus.Metric) {
	written, lost := c.log.Counts()
	into <- prometheus.MustNewConstMetric(auditLines, prometheus.CounterValue, float64(written), "written")
	into <- prometheus.MustNewConstMetric(auditLines, prometheus.CounterValue, float64(lost), "lost")
}
