// Package history records the requests of concurrent clients and checks that they are linearizable: that there is one
// sequence of all requests, each at some moment between its beginning and its end, in which a sequential service
// returns the same responses. Porcupine searches that order. This package contains the sequential model, in Go, from
// the documents of the API.
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
)

// The size of a district. It is small, so that clients use the same providers and consumers.
const (
	providers = 4
	consumers = 5
)

// classes are the resource classes of the providers.
var classes = [...]string{"VCPU", "MEMORY_MB"}

// traits are the traits of the providers, one bit each.
var traits = [...]string{"HW_CPU_X86_VMX", "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD"}

// none is the number of a missing provider, class or consumer.
const none = -1

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
		d.providers[p] = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "district %d place %d", number, p))
		d.numbers[d.providers[p].String()] = p
	}
	for c := range consumers {
		d.consumers[c] = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "district %d consumer %d", number, c))
		d.numbers[d.consumers[c].String()] = c
	}
	return d
}

// number returns the provider or consumer of a UUID, none for an unknown one.
func (d *Partition) number(id string) int {
	if number, known := d.numbers[id]; known {
		return number
	}
	return none
}

// Call is one request with its response.
type Call struct {
	Client    int
	Partition *Partition
	Operation Operation
	Answer    Response
	// Start and End are durations since the start of the recording, on the clock of the clients.
	Start, End time.Duration
}

// Response is a response.
type Response struct {
	// Lost is true if the connection failed before the response.
	Lost   bool
	Status int
	// Reason is the reason of an error response; empty: success.
	Reason Reason
	// Provider, Class and Expected are the values that the error contains.
	Provider, Class int
	Expected        int64
	// Refused are the reasons of NothingFits, one for each candidate of a claim that names them.
	Refused []Refusal
	// Detail is the text of the error.
	Detail   string
	Observed Observed
	// Changes are those of a successful dry run.
	Changes *changes
}

// Refusal is the reason why one candidate does not fit.
type Refusal struct {
	Reason          Reason
	Provider, Class int
}

// Observed is the state that a successful response shows.
type Observed struct {
	// Generation is the generation of the provider or consumer; none: not in the response.
	Generation  int64
	Inventories [len(classes)]Inventory
	// Used is the usage by class; none for a class that is not in the response.
	Used [len(classes)]int64
	// ByConsumer are the allocations on a provider; Generations are those of the consumers.
	ByConsumer  [consumers]Amounts
	Generations [consumers]int64
	// ByProvider are the allocations of a consumer; PlaceGenerations are those of the providers, none for one that is
	// not listed.
	ByProvider       [providers]Amounts
	PlaceGenerations [providers]int64
	Parent, Root     int
	Traits           uint8
	// Tree is what PUT /resource_providers/{provider}/tree says of each provider.
	Tree [providers]treeChange
	// Shown and Users are the providers and consumers that GET /resource_providers/{provider}/tree shows.
	Shown [providers]shownPlace
	Users [consumers]shownConsumer
	// Served are the providers that serve the request groups of a claim.
	Served [maxGroups]int
}

// Operation is a request with its sequential model.
type Operation interface {
	fmt.Stringer
	// request returns the HTTP request.
	request(d *Partition) request
	// read parses the body of a successful response.
	read(d *Partition, body []byte, seen *Observed) error
	// concerns reports whether the operation concerns a provider. been are the consumers that a
	// request ever named on that provider.
	concerns(p int, been [consumers]bool) bool
	// of reports whether the operation concerns a consumer.
	of(c int) bool
	// place reports whether the response is valid in a state of a provider, and returns the state
	// after the operation.
	place(p int, now Provider, a *Response) (Provider, bool)
	// consumer does the same for a consumer.
	consumer(c int, now Consumer, a *Response) (Consumer, bool)
	// whole reports whether the response is valid, for rules that concern several providers or
	// consumers.
	whole(now *State, a *Response) bool
}

// describe returns a call in one line.
func (c *Call) describe() string {
	switch {
	case c.Answer.Lost:
		return c.Operation.String() + ": no response"
	case c.Answer.Reason != "":
		return fmt.Sprintf("%s: %d %s", c.Operation, c.Answer.Status, c.Answer.Detail)
	default:
		return fmt.Sprintf("%s: %d, generation %d", c.Operation, c.Answer.Status, c.Answer.Observed.Generation)
	}
}
