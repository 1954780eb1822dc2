package history

import (
	"fmt"
	"net/http"
)

// claimNamed is POST /claims with candidates for one consumer.
type claimNamed struct {
	nothing
	who        int
	given      int64 // as in claimFound
	candidates [][providers]Amounts
}

func (w claimNamed) request(d *Partition) request {
	var listed []any
	for _, has := range w.candidates {
		listed = append(listed, map[string]any{"allocations": allocationsDocument(d, has)})
	}
	body := consumerDocument(d, w.who, w.given)
	body["candidates"] = listed
	return request{method: http.MethodPost, path: "/claims", body: body, extended: true}
}

func (w claimNamed) read(d *Partition, raw []byte, seen *Observed) error {
	read, err := readClaimed(d, raw, seen)
	if err != nil {
		return err
	}
	if read.Candidate == nil || *read.Candidate < 0 || *read.Candidate >= len(w.candidates) ||
		w.candidates[*read.Candidate] != seen.ByProvider {
		return fmt.Errorf("the allocations %v are not those of the chosen candidate", seen.ByProvider)
	}
	return nil
}

func (w claimNamed) concerns(p int, been [consumers]bool) bool {
	for _, has := range w.candidates {
		if has[p] != (Amounts{}) {
			return true
		}
	}
	return been[w.who]
}

func (w claimNamed) of(c int) bool { return c == w.who }

func (w claimNamed) takes(a *Response) takes {
	return takes{wants: []want{{consumer: w.who, given: w.given, has: a.Observed.ByProvider}}}
}

func (w claimNamed) place(p int, now Provider, a *Response) (Provider, bool) {
	switch a.Reason {
	case "":
		return placeClaimed(p, now, a, w.takes(a))
	case NothingFits:
		for i, refused := range a.Refused {
			one := takes{wants: []want{{consumer: w.who, has: w.candidates[i]}}}
			if refused.Provider == p && !one.breaks(p, refused.Class, &now, refused.Reason) {
				return now, false
			}
		}
		return now, len(a.Refused) == len(w.candidates)
	case ProviderNotFound:
		return now, p != a.Provider || !now.Exists
	}
	return now, a.Reason == ConsumerGenerationConflict || a.Reason == RetriesExhausted
}

func (w claimNamed) consumer(c int, now Consumer, a *Response) (Consumer, bool) {
	if a.Reason == ProviderNotFound {
		return now, true // the server resolves names first
	}
	return consumerClaimed(c, now, a, w.takes(a))
}

func (w claimNamed) String() string {
	text := fmt.Sprintf("consumer %d at %d claims one of", w.who, w.given)
	for _, has := range w.candidates {
		text += " (" + describeHas(has) + ")"
	}
	return text
}
