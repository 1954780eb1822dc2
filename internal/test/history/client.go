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
}

// Do sends one request and records it with its response. It does not record a read without a
// response, which neither changes nor shows anything.
func (c *Client) Do(ctx context.Context, operation Operation) (*Call, error) {
	call := &Call{Client: c.Number, Partition: c.Partition, Operation: operation}
	sent := operation.request(c.Partition)
	isCut := sent.method != http.MethodGet && c.Dice.IntN(1000) < c.Cut
	deadline := ctx
	if isCut {
		limited, cancel := context.WithTimeout(ctx, time.Duration(c.Dice.Int64N(int64(8*time.Millisecond))))
		defer cancel()
		deadline = limited
	}
	call.Start = time.Since(c.Recorder.began)
	status, raw, err := c.send(deadline, sent)
	call.End = time.Since(c.Recorder.began)
	switch {
	case isCut && errors.Is(err, context.DeadlineExceeded):
		call.Answer = Answer{Lost: true, Observed: unseen()}
		call.End = never
	case err != nil:
		return nil, fmt.Errorf("%s: %w", operation, err)
	case status >= http.StatusMultipleChoices:
		call.Answer = refusal(c.Partition, status, raw, wants(operation) != nil)
	default:
		call.Answer = Answer{Status: status, Provider: none, Class: none, Expected: none, Observed: unseen()}
		if err := operation.read(c.Partition, raw, &call.Answer.Observed); err != nil {
			return nil, fmt.Errorf("%s: %w", operation, err)
		}
	}
	c.Recorder.mutex.Lock()
	c.Recorder.calls = append(c.Recorder.calls, call)
	c.Recorder.mutex.Unlock()
	c.remember(call)
	return call, nil
}

func (c *Client) send(ctx context.Context, sent request) (status int, raw []byte, err error) {
	var content io.Reader = http.NoBody
	if sent.body != nil {
		encoded, err := json.Marshal(sent.body)
		if err != nil {
			return 0, nil, err
		}
		content = bytes.NewReader(encoded)
	}
	asked, err := http.NewRequestWithContext(ctx, sent.method, c.Recorder.URL+sent.path, content)
	if err != nil {
		return 0, nil, err
	}
	for name, value := range map[string]string{
		"X-Auth-Token": "admin", "X-Roles": "admin,service", "Content-Type": "application/json",
		"OpenStack-API-Version": "placement 1.39",
	} {
		asked.Header.Set(name, value)
	}
	answer, err := c.Recorder.HTTP.Do(asked)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	raw, err = io.ReadAll(answer.Body)
	return answer.StatusCode, raw, err
}

// remember stores the state that a response shows. After a generation conflict the client keeps its
// outdated state until it reads again.
func (c *Client) remember(call *Call) {
	if call.Answer.Lost || call.Answer.Reason != "" {
		return
	}
	seen := &call.Answer.Observed
	switch operation := call.Operation.(type) {
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
		c.memory.Places[operation.at].Generation = seen.Generation
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
