package placement

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// berth16 is the version of Berth's extensions with leases.
var berth16 = microversion.Berth(6)

// Lease is how long a consumer keeps what it has without being renewed.
type Lease struct {
	Seconds   *int32  `json:"seconds" nullable:"true" minimum:"1" maximum:"31536000" doc:"Time from a write or renewal to the removal; null: the lease is not renewed." example:"60"`
	Until     *Moment `json:"until" nullable:"true" format:"date-time" doc:"Time that no renewal passes; null: none." example:"2026-11-22T18:00:00.000000Z"`
	ExpiresAt Moment  `json:"expires_at" format:"date-time" doc:"From this time on the consumer is removed with all its allocations." example:"2026-11-22T14:12:00.123456Z"`
}

// leaseMember is the member lease of consumers.
const leaseMember = "lease"

// shownLease is a lease in a response: nil below berth 1.6, where the member is missing; then null for none.
type shownLease = *stateOrNull[Lease]

// leaseOf returns the member of a response.
func leaseOf(ctx context.Context, of *store.Lease) shownLease {
	if !microversion.From(ctx).HasLeases() {
		return nil
	}
	return leaseState(of)
}

// leaseState returns a lease as responses have it.
func leaseState(of *store.Lease) shownLease {
	if of == nil {
		return &stateOrNull[Lease]{}
	}
	lease := &Lease{Seconds: of.Seconds, ExpiresAt: Moment{of.ExpiresAt}}
	if of.Until != nil {
		lease.Until = &Moment{*of.Until}
	}
	return &stateOrNull[Lease]{lease}
}

// LeaseTerms are the lease that a request gives a consumer.
type LeaseTerms struct {
	Seconds   *jsonbody.Int `json:"seconds,omitempty" nullable:"true" minimum:"1" maximum:"31536000" doc:"The consumer is removed that many seconds after its last write with a lease or renewal." example:"60"`
	Until     *string       `json:"until,omitempty" nullable:"true" format:"date-time" doc:"The consumer is removed at this time; renewals do not pass it." example:"2026-11-22T18:00:00Z"`
	ExpiresAt ignored       `json:"expires_at,omitempty" doc:"Ignored; accepted because responses contain it."`
}

// receivedLease is the member lease of a request: left out, null or a lease.
type receivedLease struct {
	isSent bool
	orNull[LeaseTerms]
}

// Schema implements huma.SchemaProvider.
func (receivedLease) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[LeaseTerms](r), {Type: "null"}}}
}

// UnmarshalJSON implements json.Unmarshaler. encoding/json calls it only for a member that was sent.
func (l *receivedLease) UnmarshalJSON(raw []byte) error {
	l.isSent = true
	return l.orNull.UnmarshalJSON(raw)
}

// terms returns the lease for the store; nil: the member was left out.
func (l *receivedLease) terms() (*store.LeaseTerms, error) {
	switch {
	case !l.isSent:
		return nil, nil //nolint:nilnil // the consumer keeps what it has
	case l.value == nil:
		return &store.LeaseTerms{}, nil
	case l.value.Seconds == nil && l.value.Until == nil:
		return nil, leaseWithoutEnd.Of()
	}
	terms := &store.LeaseTerms{}
	if l.value.Seconds != nil {
		terms.Seconds = new(int32(*l.value.Seconds)) // the schema has bounded it
	}
	if l.value.Until != nil {
		until, err := time.Parse(time.RFC3339, *l.value.Until)
		if err != nil {
			return nil, leaseUntilMalformed.Of(*l.value.Until)
		}
		until = until.Truncate(time.Microsecond)
		terms.Until = &until
	}
	return terms, nil
}

// checkLease checks the length of a lease that a request gives; nil: it gives none.
func (o *operations) checkLease(terms *store.LeaseTerms) error {
	if terms == nil || terms.Seconds == nil {
		return nil
	}
	if least := int32(o.leaseMin / time.Second); *terms.Seconds < least {
		return leaseTooShort.Of(least, *terms.Seconds)
	}
	return nil
}

// checkLeases is checkLease for several consumers.
func (o *operations) checkLeases(claims []store.Claim) error {
	for i := range claims {
		if err := o.checkLease(claims[i].Lease); err != nil {
			return err
		}
	}
	return nil
}

var (
	leaseWithoutEnd = route.Fails(fault.Invalid, "lease-without-end", "A lease has neither `seconds` nor `until`.",
		"A lease has 'seconds', 'until' or both; null takes it away.").WithCode(fault.CodeWriteBadValue).From(berth16)
	leaseTooShort = route.Fails(fault.Invalid, "lease-too-short", "A lease is shorter than the server permits (`--lease-min`).",
		"A lease has at least %d seconds on this server, not %d.", 10, 3).WithCode(fault.CodeWriteBadValue).From(berth16)
	leaseUntilMalformed = route.Fails(fault.Invalid, "lease-until-malformed", "`until` of a lease is not a time as in RFC 3339.",
		"'until' must be a time such as 2026-11-22T18:00:00Z, not %s.", "18:00").WithCode(fault.CodeWriteBadValue).From(berth16)
	leaseUntilOutOfRange = route.Fails(fault.Invalid, "lease-until-out-of-range",
		"`until` of a lease has passed by the clock of the database, or is more than ten years ahead.",
		"'until' of consumer %s is %s; it must be after now (%s) and at most ten years ahead.",
		exampleInstance, "2026-11-22T18:00:00Z", "2026-11-22T18:00:01Z").WithCode(fault.CodeWriteBadValue).From(berth16)
	leaseOfNode = route.Fails(fault.Invalid, "lease-of-node-allocation",
		"A consumer has claimed a node for an allocation of the Bare Metal API.",
		"Consumer %s belongs to a node allocation and cannot have a lease.", exampleInstance).WithCode(fault.CodeWriteBadValue).From(berth16)

	leaseFailures = []route.Failure{leaseWithoutEnd, leaseTooShort, leaseUntilMalformed, leaseUntilOutOfRange, leaseOfNode}
)

// leaseFaults are the errors of writes that give leases.
var leaseFaults = route.RuleFaults{
	store.LeaseUntilOutOfRange: func(values store.Values) *fault.Error {
		return leaseUntilOutOfRange.Of(values.Consumer, values.Until.UTC().Format(time.RFC3339Nano), values.Now.UTC().Format(time.RFC3339Nano))
	},
	store.LeaseOfNode: func(values store.Values) *fault.Error { return leaseOfNode.Of(values.Consumer) },
}

// LeasesRenew is the request to renew leases.
type LeasesRenew struct {
	Consumers []string      `json:"consumers" minItems:"1" maxItems:"1000" doc:"UUIDs of the consumers, each once." example:"[\"1d5ecafe-0000-4000-8000-000000000001\"]"`
	Seconds   *jsonbody.Int `json:"seconds,omitempty" nullable:"false" minimum:"1" maximum:"31536000" doc:"New length of each lease. Default: each keeps its own." example:"120"`
}

// LeasesRenewed is the response with what became of each lease.
type LeasesRenewed struct {
	Renewed jsonbody.Ordered[LeaseRenewed] `json:"renewed" doc:"Renewed leases by consumer UUID."`
	Gone    uuids                          `json:"gone" doc:"Consumers that do not exist (any more): their holders must stop."`
	Without uuids                          `json:"without" doc:"Consumers without a lease, or with one that has until alone. They get none."`
}

// LeaseRenewed is a renewed lease.
type LeaseRenewed struct {
	Seconds   int32  `json:"seconds" doc:"Time from a renewal to the removal." example:"120"`
	ExpiresAt Moment `json:"expires_at" format:"date-time" doc:"From this time on the consumer is removed." example:"2026-11-22T14:13:00.123456Z"`
}

// leaseOperations returns the rows of the table.
func (o *operations) leaseOperations() []*route.Operation {
	renewed := LeasesRenewed{
		Renewed: jsonbody.Ordered[LeaseRenewed]{{Key: exampleInstance, Value: LeaseRenewed{120, Moment{exampleMoment.Add(2 * time.Minute)}}}},
		Gone:    uuids{}, Without: uuids{},
	}
	return []*route.Operation{{
		ID: "lease-renew", Method: http.MethodPost, Path: "/leases", Tag: tagConsumers, Rule: policy.LeasesRenew,
		Summary: "Renew the leases of consumers", Checks: searches,
		Description: "Each renewal stands for itself: the response is 200, whatever is gone. A lease then ends `seconds` after now, also if it " +
			"would have ended later, but never after its `until`. No generation changes.",
		Fails: []route.Failure{leaseTooShort},
		Variants: []route.Variant{route.Write(berth16, route.Body[none]{Example: map[string]any{
			"consumers": []any{exampleInstance}, "seconds": 120,
		}}, o.leaseRenew, route.Example(showing(renewed)))},
	}}
}

func (o *operations) leaseRenew(ctx context.Context, _ *none, body *LeasesRenew) (*cached[LeasesRenewed], error) {
	terms := store.LeaseTerms{}
	if body.Seconds != nil {
		terms.Seconds = new(int32(*body.Seconds))
	}
	if err := o.checkLease(&terms); err != nil {
		return nil, err
	}
	consumers, seen := make([]uuid.UUID, 0, len(body.Consumers)), make(map[uuid.UUID]bool, len(body.Consumers))
	for _, text := range body.Consumers {
		id, ok := uuidlike.Parse(text)
		switch {
		case !ok:
			return nil, route.InvalidBody.Of("'" + text + "' is not a 'uuid'")
		case seen[id]:
			return nil, route.InvalidBody.Of("consumer " + text + " is named twice")
		}
		seen[id] = true
		consumers = append(consumers, id)
	}
	renewals, err := o.store.LeaseRenew(ctx, consumers, terms.Seconds)
	if err != nil {
		return nil, err
	}
	result := LeasesRenewed{Renewed: jsonbody.Ordered[LeaseRenewed]{}, Gone: uuids{}, Without: uuids{}}
	for i := range renewals {
		renewal := &renewals[i]
		switch {
		case renewal.Seconds > 0:
			result.Renewed = append(result.Renewed, jsonbody.Entry[LeaseRenewed]{
				Key: renewal.Consumer.String(), Value: LeaseRenewed{renewal.Seconds, Moment{renewal.ExpiresAt}},
			})
		case renewal.Exists:
			result.Without = append(result.Without, renewal.Consumer)
		default:
			result.Gone = append(result.Gone, renewal.Consumer)
		}
	}
	return answer(ctx, result, now()), nil
}
