package bruteforce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// wireResponse is the body of a 200; other members are an error.
type wireResponse struct {
	Requests []struct {
		Allocations json.RawMessage      `json:"allocations"`
		Mappings    *map[string][]string `json:"mappings"`
	} `json:"allocation_requests"`
	Summaries map[string]struct {
		Resources map[string]*struct {
			Capacity *json.Number `json:"capacity"`
			Used     *int64       `json:"used"`
		} `json:"resources"`
		Traits []string        `json:"traits"`
		Parent json.RawMessage `json:"parent_provider_uuid"`
		Root   *string         `json:"root_provider_uuid"`
	} `json:"provider_summaries"`
}

// wireUse is an element of allocations; before 1.12 it contains its provider.
type wireUse struct {
	Provider *struct {
		UUID string `json:"uuid"`
	} `json:"resource_provider"`
	Resources map[string]int64 `json:"resources"`
}

// Decode parses the body of a response at a minor version. Members that the version lacks are
// errors.
func (d *Deployment) Decode(body []byte, minor int) (*ServerResponse, error) {
	var read wireResponse
	if err := decodeStrictly(body, &read); err != nil {
		return nil, err
	}
	if read.Requests == nil || read.Summaries == nil {
		return nil, errors.New("a list or the summaries are missing")
	}
	shown := &ServerResponse{Summaries: map[string]Summary{}}
	for i := range read.Requests {
		candidate, err := d.decodeCandidate(read.Requests[i].Allocations, read.Requests[i].Mappings, minor)
		if err != nil {
			return nil, fmt.Errorf("candidate %d: %w", i, err)
		}
		shown.Candidates = append(shown.Candidates, candidate)
	}
	for uuid, summary := range read.Summaries {
		name, err := d.nameOf(uuid)
		if err != nil {
			return nil, err
		}
		made := Summary{Traits: summary.Traits}
		if summary.Resources != nil {
			made.Resources = map[string]Level{}
		}
		for class, level := range summary.Resources {
			if level == nil || level.Capacity == nil || level.Used == nil {
				return nil, fmt.Errorf("summary of %s: class %s lacks capacity or used", name, class)
			}
			capacity, err := integral(*level.Capacity)
			if err != nil {
				return nil, fmt.Errorf("summary of %s: capacity: %w", name, err)
			}
			made.Resources[class] = Level{capacity, *level.Used}
		}
		if made.Parent, made.Root, err = d.decodePlace(summary.Parent, summary.Root); err != nil {
			return nil, fmt.Errorf("summary of %s: %w", name, err)
		}
		if present := made.Traits != nil; present != (minor >= 17) {
			return nil, fmt.Errorf("summary of %s: traits: %t", name, present)
		}
		shown.Summaries[name] = made
	}
	return shown, nil
}

// DifferentError compares the body of a 400 with the correct one. Below Berth only the status counts.
func (a *Response) DifferentError(body []byte) []string {
	var read struct {
		Errors []struct {
			Code   string `json:"code"`
			Detail string `json:"detail"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(body, &read); err != nil || len(read.Errors) != 1 {
		return []string{fmt.Sprintf("no error: %s", body)}
	}
	if found := read.Errors[0]; a.Code != "" && (found.Code != a.Code || Phrase(found.Detail) != strings.TrimSpace(a.Refused)) {
		return []string{fmt.Sprintf("error %s %s", found.Code, Phrase(found.Detail)), fmt.Sprintf("  not %s %s", a.Code, a.Refused)}
	}
	return nil
}

// Phrase returns the specific part of a detail: without the explanation of the status before it, and without the schema
// after it.
func Phrase(detail string) string {
	if _, rest, found := strings.Cut(detail, "\n\n"); found {
		detail = rest
	}
	detail, _, _ = strings.Cut(detail, " Failed validating")
	return strings.TrimSpace(detail)
}

func decodeStrictly(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("something follows the document")
	}
	return nil
}

// integral parses an integer without a fraction, because 10.0 is not a valid capacity.
func integral(number json.Number) (float64, error) {
	for i, digit := range number {
		if (digit < '0' || digit > '9') && (digit != '-' || i > 0) {
			return 0, fmt.Errorf("not an integer: %s", number)
		}
	}
	return number.Float64()
}

func (d *Deployment) nameOf(uuid string) (string, error) {
	if found := d.Find(uuid); found != nil {
		return found.Name, nil
	}
	return "", fmt.Errorf("no provider has uuid %q", uuid)
}

// decodeCandidate parses allocations in the form of their version.
func (d *Deployment) decodeCandidate(allocations json.RawMessage, mappings *map[string][]string, minor int) (Candidate, error) {
	uses := map[string]wireUse{}
	if minor >= 12 {
		if err := decodeStrictly(allocations, &uses); err != nil {
			return Candidate{}, err
		}
	} else {
		var list []wireUse
		if err := decodeStrictly(allocations, &list); err != nil {
			return Candidate{}, err
		}
		for _, each := range list {
			if each.Provider == nil {
				return Candidate{}, errors.New("resource_provider is missing")
			}
			if _, again := uses[each.Provider.UUID]; again {
				return Candidate{}, fmt.Errorf("provider %s twice", each.Provider.UUID)
			}
			uses[each.Provider.UUID] = wireUse{Resources: each.Resources}
		}
	}
	read := Candidate{Allocations: map[string]map[string]int64{}}
	for uuid, each := range uses {
		name, err := d.nameOf(uuid)
		if err != nil {
			return Candidate{}, err
		}
		if each.Provider != nil || len(each.Resources) == 0 {
			return Candidate{}, fmt.Errorf("allocation of %s is of the wrong form", name)
		}
		read.Allocations[name] = each.Resources
	}
	if (mappings != nil) != (minor >= 34) {
		return Candidate{}, fmt.Errorf("mappings: %t", mappings != nil)
	}
	return read, d.decodeMappings(mappings, &read)
}

func (d *Deployment) decodeMappings(mappings *map[string][]string, into *Candidate) error {
	if mappings == nil {
		return nil
	}
	into.Mappings = map[string][]string{}
	for suffix, uuids := range *mappings {
		var names []string
		for _, uuid := range uuids {
			name, err := d.nameOf(uuid)
			if err != nil {
				return err
			}
			names = append(names, name)
		}
		slices.Sort(names) // their order is undefined
		into.Mappings[suffix] = names
	}
	return nil
}

// decodePlace parses the root and the parent of a provider. The parent of a root is null.
func (d *Deployment) decodePlace(parent json.RawMessage, root *string) (parentName, rootName *string, err error) {
	if parent != nil {
		parentName = new(string)
		if string(parent) != "null" {
			var uuid string
			if err := json.Unmarshal(parent, &uuid); err != nil {
				return nil, nil, err
			}
			if *parentName, err = d.nameOf(uuid); err != nil {
				return nil, nil, err
			}
		}
	}
	if root != nil {
		name, err := d.nameOf(*root)
		if err != nil {
			return nil, nil, err
		}
		rootName = &name
	}
	return parentName, rootName, nil
}
