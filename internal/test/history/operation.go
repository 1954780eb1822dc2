package history

import (
	"encoding/json"
	"fmt"
)

// request is an HTTP request: a method, a path, and a body that is encoded as JSON.
type request struct {
	method, path string
	body         any
}

// nothing is embedded in operations without further conditions.
type nothing struct{}

func (nothing) read(*Partition, []byte, *Observed) error { return nil }

func (nothing) of(int) bool { return false }

func (nothing) consumer(_ int, now Consumer, _ *Answer) (Consumer, bool) { return now, true }

func (nothing) whole(*State, *Answer) bool { return true }

// onPlace is embedded in operations on one provider.
type onPlace struct {
	nothing
	at int
}

func (w onPlace) concerns(p int, _ [consumers]bool) bool { return p == w.at }

func (w onPlace) path(d *Partition, rest string) string {
	return "/resource_providers/" + d.providers[w.at].String() + rest
}

// refused reports whether the reason of an error response applies, for the reasons that all
// requests on a provider share. known is false for other reasons. given is the generation in the
// request, or none.
func (w onPlace) refused(now *Provider, given int64, a *Answer) (holds, known bool) {
	switch a.Reason {
	case ProviderNotFound:
		return !now.Exists, true
	case ProviderGenerationConflict:
		return now.Exists && given != none && now.Generation != given, true
	case RetriesExhausted:
		return true, true
	}
	return false, false
}

// fits reports whether the response has no generation or this one.
func (s *Observed) fits(generation int64) bool {
	return s.Generation == none || s.Generation == generation
}

// body decodes JSON.
func body[T any](raw []byte) (read T, err error) {
	if err := json.Unmarshal(raw, &read); err != nil {
		return read, fmt.Errorf("%w in %s", err, raw)
	}
	return read, nil
}

// classNumber returns the number of a class.
func classNumber(name string) (int, error) {
	for class := range classes {
		if classes[class] == name {
			return class, nil
		}
	}
	return none, fmt.Errorf("unknown class %q", name)
}

// readAmounts converts amounts by class name to amounts by class number.
func readAmounts(from map[string]int64, into *[len(classes)]int64) error {
	for name, amount := range from {
		class, err := classNumber(name)
		if err != nil {
			return err
		}
		into[class] = amount
	}
	return nil
}
