package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// dryRun is a write with dry_run=true. It never changes a state, and its response must be that of the write.
type dryRun struct{ Operation }

func (w dryRun) request(d *Partition) request {
	made := w.Operation.request(d)
	made.extended = true
	made.parameters = append(made.parameters, "dry_run=true")
	return made
}

// change is what a dry run shows of a provider or consumer. A generation is none if it does not exist, and -2 if it is not
// in the response because it does not differ.
type change struct {
	isListed      bool
	before, after int64
}

const sameGeneration = -2

// changes are all changes of a dry run.
type changes struct {
	places    [providers]change
	consumers [consumers]change
}

// side is one side of a change.
type side struct {
	Provider *int64 `json:"generation"`
	Consumer *int64 `json:"consumer_generation"`
}

func (s *side) generation() int64 {
	switch {
	case s == nil:
		return none
	case s.Provider != nil:
		return *s.Provider
	case s.Consumer != nil:
		return *s.Consumer
	}
	return sameGeneration
}

// rehearsed is the response to a dry run.
type rehearsed struct {
	IsDryRun bool `json:"dry_run"`
	Would    int
	Body     json.RawMessage
	Changes  struct {
		Providers map[string]struct{ Before, After *side } `json:"resource_providers"`
		Consumers map[string]struct{ Before, After *side }
	}
}

// answer parses the response to a dry run as that of the write.
func (w dryRun) answer(d *Partition, raw []byte) (Response, error) {
	read, err := body[rehearsed](raw)
	if err != nil || !read.IsDryRun {
		return Response{}, errors.Join(err, fmt.Errorf("no dry run: %s", raw))
	}
	var changed changes
	for id, of := range read.Changes.Providers {
		if p := d.number(id); p != none {
			changed.places[p] = change{true, of.Before.generation(), of.After.generation()}
		}
	}
	for id, of := range read.Changes.Consumers {
		if c := d.number(id); c != none {
			changed.consumers[c] = change{true, of.Before.generation(), of.After.generation()}
		}
	}
	if read.Would >= http.StatusMultipleChoices {
		made := refusal(d, read.Would, read.Body, claimsAllocations(w.Operation))
		if changed != (changes{}) {
			made.Reason = Unexplained
		}
		return made, nil
	}
	made := Response{Status: read.Would, Provider: none, Class: none, Expected: none, Observed: unseen(), Changes: &changed}
	if string(read.Body) != "null" {
		err = w.Operation.read(d, read.Body, &made.Observed)
	}
	return made, err
}

// isShown reports whether a change has the generations of a state before and after.
func (c change) isShown(differs bool, before, after int64) bool {
	if !differs || !c.isListed {
		return differs == c.isListed
	}
	if before == after {
		return c.before == sameGeneration && c.after == sameGeneration
	}
	return c.before == before && c.after == after
}

// shown returns what the API shows of a provider, and its generation; none if it does not exist.
func (s Provider) shown() (visible Provider, generation int64) {
	s.Children = 0
	if !s.Exists {
		return s, none
	}
	var used [len(classes)]int64
	for class := range classes {
		used[class] = s.used(class)
	}
	s.ByConsumer = [consumers]Amounts{used}
	return s, s.Generation
}

func (w dryRun) place(p int, now Provider, a *Response) (Provider, bool) {
	if a.Reason == Busy {
		return now, true
	}
	after, holds := w.Operation.place(p, now, a)
	if a.Changes != nil {
		visible, before := now.shown()
		changed, generation := after.shown()
		holds = holds && a.Changes.places[p].isShown(visible != changed, before, generation)
	}
	return now, holds
}

func (w dryRun) consumer(c int, now Consumer, a *Response) (Consumer, bool) {
	if a.Reason == Busy {
		return now, true
	}
	after, holds := w.Operation.consumer(c, now, a)
	if a.Changes != nil {
		generation := func(s Consumer) int64 {
			if s.Generation == 0 {
				return none
			}
			return s.Generation
		}
		holds = holds && a.Changes.consumers[c].isShown(now != after, generation(now), generation(after))
	}
	return now, holds
}

func (w dryRun) whole(now *State, a *Response) bool {
	return a.Reason == Busy || w.Operation.whole(now, a)
}

func (w dryRun) String() string { return "dry run: " + w.Operation.String() }

func isDryRun(operation Operation) bool {
	_, is := operation.(dryRun)
	return is
}
