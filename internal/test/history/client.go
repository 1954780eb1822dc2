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

	"github.com/berthd/berth/internal/test/model"
)

// Recorder records all calls to one server.
type Recorder struct {
	// URL is the URL of the server; HTTP sends the requests.
	URL  string
	HTTP *http.Client
	// Partitions are all districts of the history.
	Partitions []*Partition
	// Leases change leases in the database; nil: nothing expires.
	Leases *Leases

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

	memory model.State
	// roots are the roots that the client has read.
	roots [providers]int
	// unresolved are the requests with a key of which an attempt was lost and a later one was refused.
	unresolved []attempt
	// keys is the number of keys of this client.
	keys int
}

// Do sends one request and records it with its response. It does not record a read or a dry run without a
// response, which neither changes nor shows anything.
func (c *Client) Do(ctx context.Context, operation model.Operation) error {
	sent := c.Partition.request(operation)
	if isKeyed(operation) {
		return c.doKeyed(ctx, operation, sent)
	}
	_, isDryRun := operation.(model.DryRun)
	start := c.now()
	got, err := c.attempt(ctx, sent)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", model.Describe(operation), err)
	case got != nil:
		return c.record(operation, start, c.now(), got)
	case sent.method != http.MethodGet && !isDryRun:
		lost := model.Accepted()
		lost.Lost = true
		c.add(&Call{Operation: operation, Answer: lost, Start: start, End: never})
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
func (c *Client) record(operation model.Operation, start, end time.Duration, got *response) error {
	answer, err := c.answer(operation, got)
	if err != nil {
		return fmt.Errorf("%s: %w", model.Describe(operation), err)
	}
	call := &Call{Operation: operation, Answer: answer, Start: start, End: end}
	c.add(call)
	c.remember(call)
	return nil
}

func (c *Client) add(call *Call) { c.addTo(c.Partition, call) }

func (c *Client) addTo(d *Partition, call *Call) {
	call.Client, call.Partition = c.Number, d
	c.Recorder.mutex.Lock()
	defer c.Recorder.mutex.Unlock()
	c.Recorder.calls = append(c.Recorder.calls, call)
}

func (c *Client) answer(operation model.Operation, got *response) (model.Response, error) {
	if got.status >= http.StatusMultipleChoices {
		return refusal(c.Partition, got.status, got.body, claimsAllocations(operation)), nil
	}
	if rehearsal, is := operation.(model.DryRun); is {
		return c.Partition.readDryRun(rehearsal, got.body)
	}
	made := model.Accepted()
	made.Status = got.status
	return made, c.Partition.read(operation, got.body, &made.Observed)
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
		asked.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.6")
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
	switch w := call.Operation.(type) {
	case model.ClaimFound, model.ClaimNamed, model.Claim, model.Reshape:
		c.rememberWants(call.wanted())
	case model.PatchAllocations:
		c.memory.Consumers[w.Consumer] = model.Consumer{Generation: seen.Generation, Allocations: seen.Allocations}
	case model.ReadAllocations:
		c.memory.Consumers[w.Consumer] = model.Consumer{Generation: seen.Generation, Allocations: seen.Allocations}
	case model.DeleteAllocations:
		c.memory.Consumers[w.Consumer] = model.Consumer{}
	case model.Read:
		if w.Part == model.PartTraits {
			return
		}
		c.memory.Providers[w.At].Generation = seen.Generation
		switch w.Part {
		case model.PartInventories:
			c.memory.Providers[w.At].Inventories = seen.Inventories
		case model.Itself:
			c.memory.Providers[w.At].Parent, c.roots[w.At] = seen.Parent, seen.Root
		}
	case model.ReplaceInventories:
		if !w.IsDelete {
			c.memory.Providers[w.At].Generation, c.memory.Providers[w.At].Inventories = seen.Generation, seen.Inventories
		}
	case model.ChangeInventory:
		c.memory.Providers[w.At].Generation = max(seen.Generation, 0)
	case model.ReplaceTraits:
		c.memory.Providers[w.At].Generation = seen.Generation
	case model.CreateProvider:
		c.memory.Providers[w.At] = model.Provider{Exists: true}
	default:
		c.rememberTree(call.Operation, seen)
	}
}

func (c *Client) rememberTree(operation model.Operation, seen *model.Observed) {
	switch w := operation.(type) {
	case model.ReadTree:
		for p := range providers {
			if shown, of := &seen.Shown[p], &c.memory.Providers[p]; shown.IsListed {
				of.Generation, of.Parent, of.Inventories = shown.Generation, shown.Parent, shown.Inventories
				c.roots[p] = shown.Root
			}
		}
	case model.ReplaceTree:
		for _, one := range w.Nodes {
			c.memory.Providers[one.At].Parent, c.memory.Providers[one.At].Generation = one.Parent, seen.Tree[one.At].Generation
			c.roots[one.At] = w.At
		}
	}
}

func (c *Client) rememberWants(wants []model.Want) {
	for _, one := range wants {
		known := model.Consumer{}
		if one.Allocations != (model.Allocations{}) {
			known = model.Consumer{Generation: one.Given + 1, Allocations: one.Allocations}
		}
		c.memory.Consumers[one.Consumer] = known
		for p := range one.Allocations {
			if one.Allocations[p] != (model.Amounts{}) {
				c.memory.Providers[p].Generation++
			}
		}
	}
}
