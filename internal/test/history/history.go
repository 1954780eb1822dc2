// Package history records the requests of concurrent clients and checks that they are linearizable: that there is one
// sequence of all requests, each at some moment between its beginning and its end, in which a sequential service
// returns the same responses. Porcupine searches that order. This package contains the sequential model, in Go, from
// the documents of the API.
//
// A history consists of districts: some providers and some consumers that are independent of all others, so that each
// district is a separate history. It is checked in three ways.
//
// By provider, and by consumer. A request that is about several of them is then cut
// into what it means for each: a claim on two providers is, for each provider, "this
// consumer has so much of you now, and you have one generation more", and for the
// consumer "this is all you have". What a consumer loses elsewhere by it is not in
// the request, so each claim is also an event, "this consumer has nothing of you any
// more", of every provider on which the consumer was ever named. A refusal concerns
// whom it names: no room is a statement about one provider. If one order explains
// the whole history, then the same order, less what is about others, explains each
// part; so a part that nothing explains proves a mistake. The converse does not
// hold: each part may have an order of its own.
//
// As a whole. The same pieces put together: a request is explained only if all its
// parts can be, at one and the same moment. That finds claims that are seen half
// done, which the parts alone do not show. It takes longer where many clients meet.
//
// Answers that refuse are part of the history: no room is right only if there was none at some moment meanwhile, and a
// stale generation only if it was stale. A request whose response was lost may have been executed at any time after it
// began, or never; in the second case it comes last in the order, after all reads.
//
// A test records two histories of some seconds. For longer ones, or to send the same
// requests again, as far as the scheduler allows:
//
//	go test ./internal/test/history -run TestHistory_ConcurrentClients -v -history.duration=10m -history.seed=7
//
// That the judgement can be trusted is shown by faults that are planted into the SQL
// functions of a test's own database: a lock or a check less, and it has to be found.
// Three locks are not among them, because chance would have to wait too long for what
// they prevent. Those of roots that are copied (provider_lock_root, reshape_lock) keep a
// new child or inventory from taking the root of a tree that moves at that moment; of
// the first, TestLocks_ConcurrentTreeChanges_ConsistentOutcome in package store finds the absence. That of
// the providers whose consumer leaves (allocation_delete) keeps two writes from
// waiting for each other's inventories; no test is known to notice its absence.
//
// A history in which hardly anything was accepted shows little, whatever explains it:
// see Thin.
//
// It is for tests only. It is not a load generator: it says nothing of speed.
package history

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// The size of a district. Small numbers make clients meet.
const (
	providers = 4
	consumers = 5
)

// classes are those that providers may have.
var classes = [...]string{"VCPU", "MEMORY_MB"}

// traits are those that providers may have, one bit each.
var traits = [...]string{"HW_CPU_X86_VMX", "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD"}

// none is the place, class or consumer of which nothing is said.
const none = -1

// Partition is a part of the world with names of its own.
type Partition struct {
	Number    int
	providers [providers]uuid.UUID
	consumers [consumers]uuid.UUID
	numbers   map[string]int
}

// NewDistrict names what is in a district. The same number gives the same names.
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

// Call is one request and what came of it.
type Call struct {
	Client    int
	Partition *Partition
	Operation Operation
	Answer    Answer
	// Start and End are times since the recording began, on the clients' clock.
	Start, End time.Duration
}

// Answer is what a client was told.
type Answer struct {
	// Lost: the connection broke before an answer came.
	Lost   bool
	Status int
	// Reason is why the request was refused; empty: it was not.
	Reason Reason
	// Place, Class and Expected are what the refusal names.
	Provider, Class int
	Expected        int64
	// Detail is the refusal in words.
	Detail   string
	Observed Observed
}

// Observed is what an accepted answer tells, as far as the request asks for it.
type Observed struct {
	// Generation is that of the provider or consumer; none: not in the response.
	Generation  int64
	Inventories [len(classes)]Inventory
	// Used is by class; none for a class that is not listed.
	Used [len(classes)]int64
	// ByConsumer is what consumers have of a provider; Generations are theirs.
	ByConsumer  [consumers]Amounts
	Generations [consumers]int64
	// ByProvider are the allocations of a consumer; PlaceGenerations are those of the providers, none for one that is
	// not listed.
	ByProvider       [providers]Amounts
	PlaceGenerations [providers]int64
	Parent, Root     int
	Traits           uint8
}

// Operation is what a client asks for. Its methods say what an answer to it means.
type Operation interface {
	fmt.Stringer
	// request is what is sent.
	request(d *Partition) request
	// read takes what an accepted answer tells from its body.
	read(d *Partition, body []byte, seen *Observed) error
	// concerns says whether a provider has to do with it. been are the consumers that
	// were ever named on that provider.
	concerns(p int, been [consumers]bool) bool
	// of says whether a consumer has to do with it.
	of(c int) bool
	// place says whether the answer can be given while a provider is so, and how the
	// provider is afterwards.
	place(p int, now Provider, a *Answer) (Provider, bool)
	// consumer says the same of a consumer.
	consumer(c int, now Consumer, a *Answer) (Consumer, bool)
	// whole says whether the answer can be given, as far as that takes several of them.
	whole(now *State, a *Answer) bool
}

// describe is a call in one line.
func (c *Call) describe() string {
	switch {
	case c.Answer.Lost:
		return c.Operation.String() + ": no answer"
	case c.Answer.Reason != "":
		return fmt.Sprintf("%s: %d %s", c.Operation, c.Answer.Status, c.Answer.Detail)
	default:
		return fmt.Sprintf("%s: %d, generation %d", c.Operation, c.Answer.Status, c.Answer.Observed.Generation)
	}
}
