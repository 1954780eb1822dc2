package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Recorder records all calls to one server.
type Recorder struct {
	// URL is the URL of the server; HTTP sends the requests.
	URL  string
	HTTP *http.Client

	began time.Time
	mutex sync.Mutex
	calls []*Call
}

// NewRecorder returns a recorder of a new history.
func NewRecorder(url string, with *http.Client) *Recorder {
	return &Recorder{URL: url, HTTP: with, began: time.Now()}
}

// Calls returns all calls so far.
func (r *Recorder) Calls() []*Call {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]*Call{}, r.calls...)
}

func unseen() Observed {
	seen := Observed{Generation: none, Parent: none, Root: none}
	for class := range classes {
		seen.Used[class] = none
	}
	for p := range providers {
		seen.PlaceGenerations[p] = none
	}
	for group := range seen.Served {
		seen.Served[group] = none
	}
	return seen
}

// Client is one of the concurrent clients. It chooses requests from the responses that it has
// received, which may be outdated.
type Client struct {
	Number    int
	Recorder  *Recorder
	Partition *Partition
	// Dice is the random generator of the client.
	Dice *rand.Rand
	// Cut is the number of writes per thousand whose connection the client closes before the
	// response.
	Cut int
	// Favors is the kind of request that the client sends more often.
	Favors Bias

	memory State
	// roots are the roots that the client has read.
	roots [providers]int
	// unresolved are the requests with a key of which an attempt was lost and a later one was refused.
	unresolved []attempt
	// keys is the number of keys of this client.
	keys int
}

// Do sends one request and records it with its response. It does not record a read or a dry run without a
// response, which neither changes nor shows anything.
func (c *Client) Do(ctx context.Context, operation Operation) error {
	sent := operation.request(c.Partition)
	if isKeyed(operation) {
		return c.doKeyed(ctx, operation, sent)
	}
	start := c.now()
	got, err := c.attempt(ctx, sent)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", operation, err)
	case got != nil:
		return c.record(operation, start, c.now(), got)
	case sent.method != http.MethodGet && !isDryRun(operation):
		c.add(&Call{Operation: operation, Answer: Response{Lost: true, Observed: unseen()}, Start: start, End: never})
	}
	return nil
}

func (c *Client) now() time.Duration { return time.Since(c.Recorder.began) }

// attempt sends a request, and closes the connection of some writes before the response; then there is none.
func (c *Client) attempt(ctx context.Context, sent request) (*response, error) {
	isCut := sent.method != http.MethodGet && c.Dice.IntN(1000) < c.Cut
	if isCut {
		limited, cancel := context.WithTimeout(ctx, time.Duration(c.Dice.Int64N(int64(8*time.Millisecond))))
		defer cancel()
		ctx = limited
	}
	got, err := c.send(ctx, sent)
	if isCut && errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return got, err
}

// record parses a response and adds the call to the history.
func (c *Client) record(operation Operation, start, end time.Duration, got *response) error {
	answer, err := c.answer(operation, got)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	call := &Call{Operation: operation, Answer: answer, Start: start, End: end}
	c.add(call)
	c.remember(call)
	return nil
}

func (c *Client) add(call *Call) {
	call.Client, call.Partition = c.Number, c.Partition
	c.Recorder.mutex.Lock()
	defer c.Recorder.mutex.Unlock()
	c.Recorder.calls = append(c.Recorder.calls, call)
}

func (c *Client) answer(operation Operation, got *response) (Response, error) {
	if got.status >= http.StatusMultipleChoices {
		return refusal(c.Partition, got.status, got.body, claimsAllocations(operation)), nil
	}
	if rehearsal, is := operation.(dryRun); is {
		return rehearsal.answer(c.Partition, got.body)
	}
	made := Response{Status: got.status, Provider: none, Class: none, Expected: none, Observed: unseen()}
	return made, operation.read(c.Partition, got.body, &made.Observed)
}

// response is an HTTP response.
type response struct {
	status     int
	body       []byte
	isReplayed bool
}

func (c *Client) send(ctx context.Context, sent request) (*response, error) {
	var content io.Reader = http.NoBody
	if sent.body != nil {
		encoded, err := json.Marshal(sent.body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	path := sent.path
	if sent.parameters != nil {
		path += "?" + strings.Join(sent.parameters, "&")
	}
	asked, err := http.NewRequestWithContext(ctx, sent.method, c.Recorder.URL+path, content)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"X-Auth-Token": "admin", "X-Roles": "admin,service", "Content-Type": "application/json",
		"OpenStack-API-Version": "placement 1.39",
	} {
		asked.Header.Set(name, value)
	}
	if sent.extended {
		asked.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.4")
	}
	if sent.key != "" {
		asked.Header.Set("Idempotency-Key", sent.key)
	}
	answer, err := c.Recorder.HTTP.Do(asked)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	return &response{answer.StatusCode, raw, answer.Header.Get("Idempotent-Replayed") == "true"}, err
}

// remember stores the state that a response shows. After a generation conflict the client keeps its
// outdated state until it reads again.
func (c *Client) remember(call *Call) {
	if call.Answer.Lost || call.Answer.Reason != "" {
		return
	}
	seen := &call.Answer.Observed
	switch operation := call.Operation.(type) {
	case claimFound, claimNamed:
		c.rememberWants(call.wanted())
	case patchAllocations:
		c.memory.Consumers[operation.who] = Consumer{Generation: seen.Generation, ByProvider: seen.ByProvider}
	case claim:
		c.rememberWants(operation.wants)
	case reshape:
		c.rememberWants(operation.wants)
	case deleteAllocations:
		c.memory.Consumers[operation.who] = Consumer{}
	case getAllocations:
		c.memory.Consumers[operation.who] = Consumer{Generation: seen.Generation, ByProvider: seen.ByProvider}
	case getProviderAllocations:
		c.memory.Places[operation.at].Generation = seen.Generation
	case getInventories:
		c.memory.Places[operation.at].Generation, c.memory.Places[operation.at].Inventories = seen.Generation, seen.Inventories
	case getUsages:
		c.memory.Places[operation.at].Generation = seen.Generation
	case getProvider:
		c.memory.Places[operation.at].Generation, c.memory.Places[operation.at].Parent = seen.Generation, seen.Parent
		c.roots[operation.at] = seen.Root
	case showTree:
		for p := range seen.Shown {
			if shown := &seen.Shown[p]; shown.isListed {
				c.memory.Places[p].Generation, c.memory.Places[p].Parent, c.memory.Places[p].Inventories = shown.generation, shown.parent, shown.inventories
				c.roots[p] = shown.root
			}
		}
	case replaceTree:
		for _, one := range operation.nodes {
			c.memory.Places[one.at].Parent, c.memory.Places[one.at].Generation = one.parent, seen.Tree[one.at].generation
			c.roots[one.at] = operation.at
		}
	case putInventories:
		c.memory.Places[operation.at].Generation, c.memory.Places[operation.at].Inventories = seen.Generation, seen.Inventories
	case changeInventory:
		c.memory.Places[operation.at].Generation = max(seen.Generation, 0)
	case replaceTraits:
		c.memory.Places[operation.at].Generation = seen.Generation
	case createProvider:
		c.memory.Places[operation.at] = Provider{Exists: true}
	}
}

func (c *Client) rememberWants(wants []want) {
	for _, one := range wants {
		known := Consumer{}
		if one.has != ([providers]Amounts{}) {
			known = Consumer{Generation: one.given + 1, ByProvider: one.has}
		}
		c.memory.Consumers[one.consumer] = known
		for p := range one.has {
			if one.has[p] != (Amounts{}) {
				c.memory.Places[p].Generation++
			}
		}
	}
}
