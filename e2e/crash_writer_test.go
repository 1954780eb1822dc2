//go:build client

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// trackedResource is a resource that only one writer changes: its state is what that writer sent.
type trackedResource interface {
	// next is the request that changes it, with generations as they are known, and
	// what it shows once that is done; no method: it is at its end.
	next() (method, path, body, after string)
	// done is told when that is so.
	done()
	// look are the paths that show it all, and state what their answers mean; the answer
	// of what is not there is "".
	look() []string
	state(answers []string) (string, error)
}

// keyedResource is a trackedResource whose writes have an Idempotency-Key. A write that is sent again must get the first
// response.
type keyedResource interface {
	trackedResource
	isKeyed() bool
}

// entry is an account in the journal.
type entry struct {
	trackedResource
	// acknowledged is the state after the last acknowledged write. doubted is the other possible state, after a write
	// with unknown outcome.
	acknowledged, doubted string
}

// journaledWriter writes to its accounts in turn and keeps a journal: what it wants before it
// asks, what it was told after.
type journaledWriter struct {
	urls  []string
	http  *http.Client
	dice  *rand.Rand
	ended <-chan struct{}
	open  func() trackedResource

	journal                                []*entry
	mutex                                  sync.Mutex // of the counts, which others read
	acknowledged, unsent, doubts, repeated int
	// replayed is the number of keyed writes that got a stored response.
	replayed int
	failures []error
	// key is the Idempotency-Key of the current write; empty: none.
	key string
}

// work lets a clerk write until the end. Of three accounts each is written in turn; one
// that is given up as doubtful, or at its end, is never written again, and another takes
// its place.
func (c *journaledWriter) work() {
	var current []*entry
	for range 3 {
		current = append(current, c.begin())
	}
	for n := 0; !isClosed(c.ended); n++ {
		if at := n % len(current); !c.write(current[at]) {
			current[at] = c.begin()
		}
	}
}

func (c *journaledWriter) begin() *entry {
	opened := &entry{trackedResource: c.open()}
	opened.acknowledged, _ = opened.state(nil)
	c.journal = append(c.journal, opened)
	return opened
}

// write sends one change until its outcome is known, and returns false if it gave up or there is no change left. Of the
// writes with unknown outcome it gives up a quarter at once and repeats the others, however long the outage is. A choice
// after every failed attempt would leave nearly no write to repeat after an outage of many attempts.
func (c *journaledWriter) write(of *entry) bool {
	method, path, body, after := of.next()
	if method == "" {
		return false
	}
	if keyed, ok := of.trackedResource.(keyedResource); ok && keyed.isKeyed() {
		c.key = uuid.NewString()
		defer func() { c.key = "" }()
	}
	doubtful, givesUp := false, c.dice.IntN(4) == 0
	for {
		got, err := c.ask(method, path, body)
		switch {
		case err == nil && got.status < 300:
			if got.header.Get("Idempotent-Replayed") != "" {
				c.count(&c.replayed)
			}
			c.settle(of, after, doubtful)
			return true
		case err == nil && got.status == 409 && strings.Contains(got.body, "Nothing was changed. Retry the request."):
			// Another write waits for its commit and holds the rows, for longer than lock_timeout.
		case err == nil && got.status == 409 && c.key != "":
			c.fail("%s %s with a key, doubtful %v: got %s", method, path, doubtful, got.body)
			return false
		case err == nil && (got.status == 409 || got.status == 404) && doubtful:
			if shown := c.show(of); shown != after && !isClosed(c.ended) {
				c.fail("%s %s is refused with %s, as if it had been done, and shows %s instead of %s", method, path, got.body, shown, after)
				return false
			}
			c.settle(of, after, true)
			return true
		case err == nil && (got.status != 503 || got.header.Get("Retry-After") == ""):
			c.fail("%s %s, doubtful %v: got %d %s", method, path, doubtful, got.status, got.body)
			return false
		}
		if isDoubtful(got, err) {
			doubtful = true
			c.count(&c.doubts)
		} else {
			c.count(&c.unsent)
		}
		if isClosed(c.ended) || doubtful && givesUp {
			if doubtful {
				of.doubted = after
			}
			return false
		}
		time.Sleep(time.Duration(c.dice.IntN(20)) * time.Millisecond)
	}
}

// isDoubtful reports whether a failed request may have been executed. A refused connection has sent nothing, and a
// response states whether the outcome is unknown.
func isDoubtful(got answer, err error) bool {
	if err == nil {
		return isOutcomeUnknown(got.body)
	}
	var failed *net.OpError
	return !errors.As(err, &failed) || failed.Op != "dial"
}

func (c *journaledWriter) settle(of *entry, after string, again bool) {
	of.done()
	of.acknowledged = after
	if c.count(&c.acknowledged); again {
		c.count(&c.repeated)
	}
}

func (c *journaledWriter) count(what *int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	*what++
}

func (c *journaledWriter) fail(format string, values ...any) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.failures = append(c.failures, fmt.Errorf(format, values...))
}

// ask sends a request once, to any of the servers.
func (c *journaledWriter) ask(method, path, body string) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.urls[c.dice.IntN(len(c.urls))]+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	// The transport sends some requests again by itself, unless it can't have the body
	// a second time.
	request.GetBody = nil
	request.Header = http.Header{
		"X-Auth-Token": {"admin"}, "X-Roles": {"admin,service"}, "Openstack-Api-Version": {"placement 1.39"},
		"Content-Type": {"application/json"}, "Accept": {"application/json"},
	}
	if method != "GET" && c.key != "" {
		request.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.3")
		request.Header.Set("Idempotency-Key", c.key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, string(text), response.Header}, err
}

// show reads an account, as often as it takes.
func (c *journaledWriter) show(of *entry) string {
	var answers []string
	for deadline := time.Now().Add(writeTimeout); len(answers) < len(of.look()); {
		got, err := c.ask("GET", of.look()[len(answers)], "")
		if err == nil && got.status == 404 {
			got.status, got.body = 200, ""
		}
		if err == nil && got.status == 200 {
			answers = append(answers, got.body)
			continue
		}
		if err == nil && got.status != 503 || time.Now().After(deadline) {
			return fmt.Sprintf("cannot read it within %s: %d %s, %v", writeTimeout, got.status, got.body, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	shown, err := of.state(answers)
	if err != nil {
		return err.Error()
	}
	return shown
}

// journalSummary are what a journal comes to.
type journalSummary struct {
	accounts, acknowledged, unsent, doubts, repeated, replayed int
	// Of the writes that were given up so many were made, and so many not.
	made, lost int
	// wrong are the inconsistencies, one sentence each.
	wrong []string
}

// compare reads every resource of the journals: each must have the state after its last acknowledged write, or after
// the one write with unknown outcome that followed.
func compare(clerks []*journaledWriter) (b journalSummary) {
	for _, c := range clerks {
		b.acknowledged, b.unsent, b.doubts, b.repeated = b.acknowledged+c.acknowledged, b.unsent+c.unsent, b.doubts+c.doubts, b.repeated+c.repeated
		b.replayed += c.replayed
		for _, failure := range c.failures {
			b.wrong = append(b.wrong, failure.Error())
		}
		for _, of := range c.journal {
			b.accounts++
			switch shown := c.show(of); {
			case of.doubted != "" && shown == of.doubted:
				b.made++
			case shown != of.acknowledged:
				b.wrong = append(b.wrong, fmt.Sprintf("an account of %v shows\n%s\nacknowledged was\n%s\nand doubtful\n%s",
					of.look(), shown, of.acknowledged, of.doubted))
			case of.doubted != "":
				b.lost++
			}
		}
	}
	return b
}

// audit fails the test for what the journals and the service do not agree on.
func audit(t *testing.T, clerks []*journaledWriter) {
	t.Helper()
	b := compare(clerks)
	t.Logf("%d writes to %d accounts acknowledged; %d requests brought nothing there, %d had an unknown outcome; sent again, %d of those "+
		"were or had been done; given up, %d turned out done and %d not; %d responses were replayed", b.acknowledged, b.accounts, b.unsent, b.doubts, b.repeated, b.made, b.lost, b.replayed)
	for _, sentence := range b.wrong[:min(len(b.wrong), 10)] {
		t.Error(sentence)
	}
	if b.acknowledged < 100 || b.doubts == 0 || b.repeated == 0 {
		t.Errorf("too little happened: %d acknowledged writes, want at least 100; %d requests with an unknown outcome and %d repeated "+
			"writes among the acknowledged, want at least one each", b.acknowledged, b.doubts, b.repeated)
	}
}
