// Package history records what clients did to a service and asks whether any order
// explains it: whether there is one sequence of all requests, each at some moment
// between its beginning and its end, in which a service that does one thing at a
// time would have given the very answers that the clients got. The search for that
// order is porcupine's; what one thing at a time means is said here, in plain Go,
// from the documents of the API.
//
// The world of a history is made of districts: some providers and some consumers
// that have to do with each other and with nobody else, so that each district is a
// history of its own. It is looked at in three ways.
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
// Answers that refuse are part of the history: no room is right only if there was
// none at some moment meanwhile, and a stale generation only if it was stale. A
// request whose answer was lost may have happened at any time after it began, or
// never; such a one stands at the very end, where it changes what nobody reads.
//
// A test records two histories of some seconds. For longer ones, or to send the same
// requests again, as far as the scheduler allows:
//
//	go test ./server/history -run TestOneOrder -v -history.duration=10m -history.seed=7
//
// That the judgement can be trusted is shown by faults that are planted into the SQL
// functions of a test's own database: a lock or a check less, and it has to be found.
// Three locks are not among them, because chance would have to wait too long for what
// they prevent. Those of roots that are copied (lock_root_shared, reshape_hold) keep a
// new child or inventory from taking the root of a tree that moves at that moment; of
// the first, TestATreeChangesFromTwoSides in package store finds the absence. That of
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
	places    = 4
	consumers = 5
)

// classes are those that providers may have.
var classes = [...]string{"VCPU", "MEMORY_MB"}

// traits are those that providers may have, one bit each.
var traits = [...]string{"HW_CPU_X86_VMX", "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD"}

// nobody is the place, class or consumer of which nothing is said.
const nobody = -1

// District is a part of the world with names of its own.
type District struct {
	Number    int
	places    [places]uuid.UUID
	consumers [consumers]uuid.UUID
	numbers   map[string]int
}

// NewDistrict names what is in a district. The same number gives the same names.
func NewDistrict(number int) *District {
	d := &District{Number: number, numbers: map[string]int{}}
	for p := range places {
		d.places[p] = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "district %d place %d", number, p))
		d.numbers[d.places[p].String()] = p
	}
	for c := range consumers {
		d.consumers[c] = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "district %d consumer %d", number, c))
		d.numbers[d.consumers[c].String()] = c
	}
	return d
}

// number is the place or consumer of a uuid, nobody for an unknown one.
func (d *District) number(id string) int {
	if number, known := d.numbers[id]; known {
		return number
	}
	return nobody
}

// Call is one request and what came of it.
type Call struct {
	Client   int
	District *District
	Wish     Wish
	Answer   Answer
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
	Place, Class int
	Expected     int64
	// Detail is the refusal in words.
	Detail string
	Seen   Seen
}

// Seen is what an accepted answer tells, as far as the request asks for it.
type Seen struct {
	// Generation is that of the provider or consumer; nobody: it is not told.
	Generation int64
	Offers     [len(classes)]Offer
	// Used is by class; nobody for a class that is not listed.
	Used [len(classes)]int64
	// Taken is what consumers have of a provider; Generations are theirs.
	Taken       [consumers]Amounts
	Generations [consumers]int64
	// Has is what a consumer has; PlaceGenerations are the providers', nobody for one
	// that is not listed.
	Has              [places]Amounts
	PlaceGenerations [places]int64
	Parent, Root     int
	Traits           uint8
}

// Wish is what a client asks for. Its methods say what an answer to it means.
type Wish interface {
	fmt.Stringer
	// request is what is sent.
	request(d *District) request
	// read takes what an accepted answer tells from its body.
	read(d *District, body []byte, seen *Seen) error
	// concerns says whether a provider has to do with it. been are the consumers that
	// were ever named on that provider.
	concerns(p int, been [consumers]bool) bool
	// of says whether a consumer has to do with it.
	of(c int) bool
	// place says whether the answer can be given while a provider is so, and how the
	// provider is afterwards.
	place(p int, now Place, a *Answer) (Place, bool)
	// consumer says the same of a consumer.
	consumer(c int, now Consumer, a *Answer) (Consumer, bool)
	// whole says whether the answer can be given, as far as that takes several of them.
	whole(now *State, a *Answer) bool
}

// describe is a call in one line.
func (c *Call) describe() string {
	switch {
	case c.Answer.Lost:
		return c.Wish.String() + ": no answer"
	case c.Answer.Reason != "":
		return fmt.Sprintf("%s: %d %s", c.Wish, c.Answer.Status, c.Answer.Detail)
	default:
		return fmt.Sprintf("%s: %d, generation %d", c.Wish, c.Answer.Status, c.Answer.Seen.Generation)
	}
}
