package history

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/berthd/berth/internal/test/model"
)

// Views are the options of Check.
type Views struct {
	// Timeout limits the search in one view.
	Timeout time.Duration
	// Directory is the directory for the visualizations of unexplained views.
	Directory string
	// First leaves out the views of whole districts if one of a provider or consumer is unexplained: the search in a
	// district without an order seldom ends before the timeout.
	First bool
}

// view is a part of the history with its sequential model.
type view struct {
	name  string
	model porcupine.Model
	calls []*Call
}

// Findings are the results of Check, one sentence per view.
type Findings struct {
	// Unexplained are the views without a valid sequential order.
	Unexplained []string
	// Undecided are the views whose search reached the timeout. They prove neither correctness nor
	// a violation.
	Undecided []string
}

// Check checks a history in all views. It returns an error if it cannot write a visualization.
func (v Views) Check(calls []*Call) (Findings, error) {
	findings := Findings{Unexplained: unexplained(calls)}
	parts, wholes := views(calls)
	err := v.checkEach(parts, &findings)
	if err == nil && (!v.First || len(findings.Unexplained) == 0) {
		err = v.checkEach(wholes, &findings)
	}
	return findings, err
}

// checkEach checks views and adds what it finds.
func (v Views) checkEach(parts []view, findings *Findings) error {
	verdicts := make([]Findings, len(parts))
	failures := make([]error, len(parts))
	var group sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range parts {
		group.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			verdicts[i], failures[i] = v.check(&parts[i])
		})
	}
	group.Wait()
	for _, of := range verdicts {
		findings.Unexplained = append(findings.Unexplained, of.Unexplained...)
		findings.Undecided = append(findings.Undecided, of.Undecided...)
	}
	return errors.Join(failures...)
}

func (v Views) check(part *view) (Findings, error) {
	operations := part.operations()
	switch porcupine.CheckOperationsTimeout(part.model, operations, v.Timeout) {
	case porcupine.Ok:
		return Findings{}, nil
	case porcupine.Unknown:
		return Findings{Undecided: []string{fmt.Sprintf(
			"%s: the search for an order of the %d calls did not end in %s", part.name, len(part.calls), v.Timeout)}}, nil
	}
	// Porcupine collects the data for a visualization only in a second run, because that takes
	// longer.
	_, information := porcupine.CheckOperationsVerbose(part.model, operations, v.Timeout)
	path := filepath.Join(v.Directory, part.name+".html")
	if err := os.MkdirAll(v.Directory, 0o755); err != nil {
		return Findings{}, err
	}
	if err := porcupine.VisualizePath(part.model, information, path); err != nil {
		return Findings{}, err
	}
	return Findings{Unexplained: []string{fmt.Sprintf(
		"%s: no order explains the %d calls; %s shows them", part.name, len(part.calls), path)}}, nil
}

// unexplained returns the first responses that are wrong in every order.
func unexplained(calls []*Call) (findings []string) {
	const most = 10
	for _, call := range calls {
		if call.Answer.Reason == model.Unexplained && len(findings) < most {
			findings = append(findings, fmt.Sprintf("district %d: %s", call.Partition.Number, call.describe()))
		}
	}
	return findings
}

// views returns the views of a history: those of one provider or consumer, and those of whole districts.
func views(calls []*Call) (parts, wholes []view) {
	var districts []*Partition
	byDistrict := map[*Partition][]*Call{}
	for _, call := range calls {
		if byDistrict[call.Partition] == nil {
			districts = append(districts, call.Partition)
		}
		byDistrict[call.Partition] = append(byDistrict[call.Partition], call)
	}
	for _, d := range districts {
		calls, name := byDistrict[d], fmt.Sprintf("district-%d", d.Number)
		part := func(suffix string, of porcupine.Model, touches func(*Call) bool) {
			touching := slices.DeleteFunc(slices.Clone(calls), func(c *Call) bool { return !touches(c) })
			parts = append(parts, view{name + suffix, of, touching})
		}
		been := whoWasWhere(calls)
		for p := range providers {
			part(fmt.Sprintf("-place-%d", p), modelOf(func(now model.Provider, of model.Operation, answer *model.Response) (model.Provider, bool) {
				return now.After(p, of, answer)
			}), func(c *Call) bool { return model.TouchesProvider(c.Operation, &c.Answer, p, been[p]) })
		}
		for who := range consumers {
			part(fmt.Sprintf("-consumer-%d", who), modelOf(func(now model.Consumer, of model.Operation, answer *model.Response) (model.Consumer, bool) {
				return now.After(who, of, answer)
			}), func(c *Call) bool { return model.TouchesConsumer(c.Operation, &c.Answer, who) })
		}
		wholes = append(wholes, view{name, modelOf(model.State.After), calls})
	}
	return parts, wholes
}

// whoWasWhere returns the consumers for which a call sets allocations, by provider.
func whoWasWhere(calls []*Call) (been [providers][model.ConsumerCount]bool) {
	for _, call := range calls {
		for _, one := range call.wanted() {
			for p := range providers {
				if one.Allocations[p] != (model.Amounts{}) {
					been[p][one.Consumer] = true
				}
			}
		}
	}
	return been
}

// wanted returns the allocations that a call has set or would have set.
func (c *Call) wanted() []model.Want {
	switch w := c.Operation.(type) {
	case model.ClaimFound:
		return w.Wants(&c.Answer)
	case model.ClaimNamed:
		return w.Wants(&c.Answer)
	case model.PatchAllocations:
		return []model.Want{{Consumer: w.Consumer, Allocations: w.Allocations}}
	}
	return wants(c.Operation)
}

// wants returns the allocations that an operation sets; nil for an operation without allocations.
func wants(of model.Operation) []model.Want {
	switch w := of.(type) {
	case model.Claim:
		return w.Wants
	case model.Reshape:
		return append([]model.Want{}, w.Wants...)
	}
	return nil
}

// never is the end of a call whose response was lost.
const never = time.Duration(math.MaxInt64)

// operations returns the calls in the form of porcupine, in lanes of calls that do not overlap.
func (v *view) operations() []porcupine.Operation {
	calls := slices.Clone(v.calls)
	slices.SortStableFunc(calls, func(a, b *Call) int { return cmp.Compare(a.Start, b.Start) })
	var ends []time.Duration
	made := make([]porcupine.Operation, 0, len(calls))
	for _, call := range calls {
		lane := slices.IndexFunc(ends, func(end time.Duration) bool { return end < call.Start })
		if lane < 0 {
			lane = len(ends)
			ends = append(ends, 0)
		}
		ends[lane] = call.End
		made = append(made, porcupine.Operation{
			ClientId: lane, Input: call, Output: &call.Answer, Call: int64(call.Start), Return: int64(call.End),
			Metadata: call,
		})
	}
	return made
}

// step reports whether a response is valid in a state, and returns the state after the call.
type step[S comparable] func(now S, of model.Operation, answer *model.Response) (S, bool)

func modelOf[S comparable](of step[S]) porcupine.Model {
	seed, accepted := maphash.MakeSeed(), model.Accepted()
	return porcupine.Model{
		Init: func() any { var empty S; return empty },
		Step: func(state, input, _ any) (bool, any) {
			call, now := input.(*Call), state.(S)
			if !call.Answer.Lost {
				after, explained := of(now, call.Operation, &call.Answer)
				return explained, after
			}
			// It may have been executed, although its response was lost.
			after, _ := of(now, call.Operation, &accepted)
			return true, after
		},
		Equal:             func(a, b any) bool { return a.(S) == b.(S) },
		Hash:              func(state any) uint64 { return maphash.Comparable(seed, state.(S)) },
		DescribeOperation: func(input, _ any) string { return input.(*Call).describe() },
		DescribeState:     func(state any) string { return fmt.Sprint(state) },
		DescribeOperationMetadata: func(of any) string {
			return fmt.Sprintf("client %d", of.(*Call).Client)
		},
	}
}
