// Package history records the requests of concurrent clients and checks that they are linearizable: that there is one
// sequence of all requests, each at some moment between its beginning and its end, in which a sequential service
// returns the same responses. Porcupine searches that order; package model is the sequential service.
//
// A history consists of districts: some providers and some consumers that are independent of all others, so that each
// district is a separate history. It is checked in three ways.
//
// By provider, and by consumer. A request that concerns several of them is split into its effect on
// each. For each provider, a claim on two providers sets the amounts of this consumer and
// increments the generation. For the consumer, it sets all allocations. The request does not
// contain the allocations that the consumer loses on other providers. Each claim is therefore also
// an event of every provider on which a request ever named the consumer. An error concerns only the
// provider that it names: an exceeded capacity is a statement about one provider. If one order
// explains the whole history, the same order without the other parts explains each part. A part
// without an order therefore proves a violation. The converse is false: each part may have another
// order.
//
// As a whole. All parts of a request must be explained at the same position of one order. This
// detects partially visible claims, which the parts alone do not show. It takes longer if many
// clients use the same providers.
//
// Errors are part of the history: an exceeded capacity is valid only if the capacity was exceeded
// at some moment during the request, and a generation conflict only if the generation was stale. A
// request whose response was lost may have been executed at any time after its start, or never; in
// the second case it comes last in the order, after all reads.
//
// A test records two histories of some seconds. For longer ones, or to repeat the same requests as
// far as the scheduler permits:
//
//	go test ./internal/test/history -run TestHistory_ConcurrentClients -v -history.duration=10m -history.seed=7
//
// Mutation tests show that the checks detect violations: they remove a lock or a check from the SQL
// functions of a test database. Three locks have no mutation, because a random race would take too
// long. Shared locks of roots (provider_lock_root, reshape_lock) prevent that a new child or
// inventory copies the root of a tree during a re-parenting. For the first,
// TestLocks_ConcurrentTreeChanges_ConsistentOutcome in package store detects its absence. The lock
// of the providers of a deleted consumer (allocation_delete_checked) prevents a deadlock of two writes on
// inventories; no test detects its absence.
//
// What the server chooses, such as the candidate of a claim, the model takes from the response. A request with an
// Idempotency-Key and all its repetitions are one call, unless the server refuses one of them. A dry run is the write
// without its effect, and shows what the write would change.
//
// Time is a step of a history: a client moves the end of a lease to the past, by changing its row. Another one removes the
// consumers whose leases have expired, as a server does. Each consumer that this removes is a call.
//
// A read of a tree is a statement about all its providers and their consumers at one moment. The parts compare each of them;
// only the whole shows that two of them are of different moments.
//
// A history with few accepted requests proves little; see Undercovered.
//
// It is for tests only. It is not a load generator and does not measure speed.
package history

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/model"
)

// The size of a district. It is small, so that clients use the same providers and consumers.
const (
	providers = 4
	consumers = 5
)

// classes are the resource classes of the providers, by number.
var classes = [...]string{"VCPU", "MEMORY_MB"}

// traits are the traits of the providers, one bit each.
var traits = [...]string{"HW_CPU_X86_VMX", "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD"}

// Partition is a district: a set of providers and consumers that is independent of others.
type Partition struct {
	Number    int
	providers [providers]uuid.UUID
	consumers [consumers]uuid.UUID
	numbers   map[string]int
}

// NewDistrict returns a district with UUIDs that depend only on its number.
func NewDistrict(number int) *Partition {
	d := &Partition{Number: number, numbers: map[string]int{}}
	for p := range providers {
		d.providers[p] = uuid.NewSHA1(uuid.NameSpaceOID, []byte(d.name(p)))
		d.numbers[d.providers[p].String()] = p
	}
	for c := range consumers {
		d.consumers[c] = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "district %d consumer %d", number, c))
		d.numbers[d.consumers[c].String()] = c
	}
	return d
}

// name returns the name of a provider.
func (d *Partition) name(p int) string { return fmt.Sprintf("district %d place %d", d.Number, p) }

// number returns the provider or consumer of a UUID, None for an unknown one.
func (d *Partition) number(id string) int {
	if number, known := d.numbers[id]; known {
		return number
	}
	return model.None
}

// uuid returns the UUID of a provider for a JSON document; nil for None.
func (d *Partition) uuid(p int) any {
	if p == model.None {
		return nil
	}
	return d.providers[p].String()
}

// Call is one request with its response.
type Call struct {
	Client    int
	Partition *Partition
	Operation model.Operation
	Answer    model.Response
	// Start and End are durations since the start of the recording, on the clock of the clients.
	Start, End time.Duration
}

// describe returns a call in one line.
func (c *Call) describe() string {
	switch {
	case c.Answer.Lost:
		return model.Describe(c.Operation) + ": no response"
	case c.Answer.Reason != "":
		return fmt.Sprintf("%s: %d %s", model.Describe(c.Operation), c.Answer.Status, c.Answer.Detail)
	default:
		return fmt.Sprintf("%s: %d, generation %d", model.Describe(c.Operation), c.Answer.Status, c.Answer.Observed.Generation)
	}
}
