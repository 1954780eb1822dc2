package auditlog

import (
	"bytes"
	"encoding/json"
	"time"
)

// ProcessLease is the process that removes consumers whose leases have expired.
const ProcessLease = "lease"

// Process is the line of a write that a server made by itself: it has the name of a process in place of a request.
type Process struct {
	Time    string `json:"time"`
	Phase   string `json:"phase"`
	Process string `json:"process"`
	Outcome string `json:"outcome,omitempty"`
	// ProjectID, UserID and ConsumerType are those of the consumer, and ExpiresAt is the end of its lease.
	ProjectID    string       `json:"project_id,omitempty"`
	UserID       string       `json:"user_id,omitempty"`
	ConsumerType string       `json:"consumer_type,omitempty"`
	ExpiresAt    *time.Time   `json:"expires_at,omitempty"`
	Consumers    []Generation `json:"consumers,omitempty"`
}

// encode returns the line at a point in time, with its line feed.
func (p *Process) encode(phase string, at time.Time) []byte {
	p.Phase, p.Time = phase, at.UTC().Format(timeFormat)
	return encodeLine(p)
}

// encodeLine returns the JSON of a line, with its line feed.
func encodeLine(record any) []byte {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(record); err != nil {
		panic("texts and numbers cannot fail to encode: " + err.Error())
	}
	return line.Bytes()
}

// BeginProcess is Begin for a process.
func (l *Log) BeginProcess(process *Process) error {
	return l.begin(process.encode(PhaseBegin, time.Now()))
}

// EndProcess is End for a process.
func (l *Log) EndProcess(process *Process) { l.end(process.encode(PhaseEnd, time.Now())) }
