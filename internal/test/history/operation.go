package history

import (
	"encoding/json"
	"fmt"
)

// request is an HTTP request.
type request struct {
	method, path string
	// parameters are those of the query string, as name=value.
	parameters []string
	// body is encoded as JSON; nil: none.
	body any
	// extended selects berth 1.4.
	extended bool
	// key is the Idempotency-Key; empty: none.
	key string
}

// comparing adds a parameter of the query string with a generation.
func (r request) comparing(name string, generation int64) request {
	r.parameters = append(r.parameters, fmt.Sprintf("%s=%d", name, generation))
	r.extended = true
	return r
}

// comparingProvider adds the provider generation, unless it is none.
func (r request) comparingProvider(generation int64) request {
	if generation == none {
		return r
	}
	return r.comparing("resource_provider_generation", generation)
}

// nothing is embedded in operations without further conditions.
type nothing struct{}

func (nothing) read(*Partition, []byte, *Observed) error { return nil }

func (nothing) of(int) bool { return false }

func (nothing) consumer(_ int, now Consumer, _ *Response) (Consumer, bool) { return now, true }

func (nothing) whole(*State, *Response) bool { return true }

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
func (w onPlace) refused(now *Provider, given int64, a *Response) (holds, known bool) {
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
