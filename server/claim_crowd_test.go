package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server/data/postgres"
)

// claimCrowd is a server with some places, and clients that claim them at once over HTTP.
type claimCrowd struct {
	*servertest.Server
	t    *testing.T
	url  string
	http *http.Client
	// query is the only query of each claim.
	query map[string]any
	// mutex is of the following fields: the claims of all clients, also refused ones, and when releases ended.
	mutex    sync.Mutex
	claims   []crowdClaim
	released []time.Time
}

// crowdLayout says where the places are.
type crowdLayout int

// The places are on one provider; on hosts with one place each; or they are units of a common pool, which every host
// can use.
const (
	onOneProvider crowdLayout = iota
	onManyHosts
	inCommonPool
)

func newClaimCrowd(t *testing.T, layout crowdLayout, places int, order string) *claimCrowd {
	t.Helper()
	c := &claimCrowd{t: t, Server: servertest.New(t, servertest.Options{
		DB: dbtest.NewWithInvariantTriggers(t), Store: postgres.Options{MaxConns: 16}, StandardNames: true,
	})}
	c.url = c.Listen(t).URL
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	c.http = &http.Client{Transport: transport}
	group := map[string]any{"resources": map[string]int{"VCPU": 1}}
	switch layout {
	case onOneProvider:
		c.provider(1, map[string]any{"VCPU": map[string]int{"total": places}}, nil)
	case onManyHosts:
		for i := range places {
			c.provider(i+1, map[string]any{"VCPU": map[string]int{"total": 1}}, nil)
		}
	case inCommonPool:
		for i := range 16 {
			c.provider(i+1, map[string]any{"VCPU": map[string]int{"total": 1000}}, nil)
		}
		c.provider(17, map[string]any{"DISK_GB": map[string]int{"total": places}}, []string{"MISC_SHARES_VIA_AGGREGATE"})
		group["resources"] = map[string]int{"VCPU": 1, "DISK_GB": 1}
	}
	c.query = map[string]any{"groups": map[string]any{"": group}}
	if order != "" {
		c.query["order"] = order
	}
	return c
}

// provider creates a provider in the aggregate of all.
func (c *claimCrowd) provider(number int, inventories map[string]any, traits []string) {
	c.t.Helper()
	id := dbtest.NumberedUUID("c1", number)
	path := "/resource_providers/" + id.String()
	c.must("POST", "/resource_providers", map[string]any{"uuid": id, "name": fmt.Sprintf("provider-%d", number)})
	c.must("PUT", path+"/inventories", map[string]any{"resource_provider_generation": 0, "inventories": inventories})
	c.must("PUT", path+"/aggregates", map[string]any{
		"resource_provider_generation": 1, "aggregates": []uuid.UUID{dbtest.NumberedUUID("a9", 1)},
	})
	if traits != nil {
		c.must("PUT", path+"/traits", map[string]any{"resource_provider_generation": 2, "traits": traits})
	}
}

func (c *claimCrowd) must(method, path string, body any) {
	c.t.Helper()
	if status, raw, err := c.send(method, path, body); err != nil || status >= http.StatusMultipleChoices {
		c.t.Fatalf("%s %s: %d %s, %v", method, path, status, raw, err)
	}
}

func (c *claimCrowd) send(method, path string, body any) (status int, raw []byte, err error) {
	var content io.Reader = http.NoBody
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		content = bytes.NewReader(encoded)
	}
	asked, err := http.NewRequest(method, c.url+path, content)
	if err != nil {
		return 0, nil, err
	}
	for name, value := range map[string]string{
		"X-Auth-Token": "admin", "X-Roles": "admin,service", "Content-Type": "application/json",
		"OpenStack-API-Version": "placement 1.39, berth 1.3",
	} {
		asked.Header.Set(name, value)
	}
	answer, err := c.http.Do(asked)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	raw, err = io.ReadAll(answer.Body)
	return answer.StatusCode, raw, err
}

// crowdClaim is one request of a crowd.
type crowdClaim struct {
	start, end time.Time
	isPlaced   bool
	searches   int
	// isContended: other claims took what each of 16 searches had found.
	isContended bool
	// failure is a response that is neither a claim nor one of the two refusals of a claim.
	failure string
}

// claim sends POST /claims for a new consumer.
func (c *claimCrowd) claim(consumer uuid.UUID) crowdClaim {
	made := c.ask(consumer)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.claims = append(c.claims, made)
	return made
}

func (c *claimCrowd) ask(consumer uuid.UUID) (made crowdClaim) {
	made.start = time.Now()
	status, raw, err := c.send("POST", "/claims", map[string]any{
		"consumers": []any{map[string]any{
			"uuid": consumer, "project_id": "project", "user_id": "user", "consumer_type": "INSTANCE", "consumer_generation": nil,
		}},
		"queries": []any{c.query},
	})
	made.end = time.Now()
	var read struct {
		Effort struct{ Searches int }
		Errors []struct{ Code string }
	}
	if err == nil {
		err = json.Unmarshal(raw, &read)
	}
	made.isPlaced, made.searches = status == http.StatusOK, read.Effort.Searches
	code := ""
	if status == http.StatusConflict && len(read.Errors) == 1 {
		code = read.Errors[0].Code
	}
	made.isContended = code == "berth.claim.contended"
	if err != nil || !made.isPlaced && !made.isContended && code != "berth.claim.nothing_fits" {
		made.failure = fmt.Sprintf("%d %s, %v", status, raw, err)
	}
	return made
}

// release deletes the allocations of a consumer.
func (c *claimCrowd) release(consumer uuid.UUID) {
	c.t.Helper()
	status, raw, err := c.send("DELETE", "/allocations/"+consumer.String(), nil)
	if err != nil || status != http.StatusNoContent {
		c.t.Errorf("DELETE: %d %s, %v", status, raw, err)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.released = append(c.released, time.Now())
}

// claimAtOnce lets all claimants send one request each. No claim is contended: nothing is released, and from the fourth search
// on a claim searches as many candidates as there are places.
func (c *claimCrowd) claimAtOnce(claimants int) {
	begin := make(chan struct{})
	var group sync.WaitGroup
	for range claimants {
		group.Go(func() {
			<-begin
			if c.claim(uuid.New()).isContended {
				c.t.Error("a claim was contended, though nothing is released")
			}
		})
	}
	close(begin)
	group.Wait()
}

// taken returns an upper bound for the places that are taken at a moment: claims that have begun, without the releases that
// have ended.
func (c *claimCrowd) taken(moment time.Time) (count int) {
	for _, one := range c.claims {
		if one.isPlaced && !one.start.After(moment) {
			count++
		}
	}
	for _, end := range c.released {
		if end.Before(moment) {
			count--
		}
	}
	return count
}

// mostTaken returns the maximum of taken during a claim. Only the beginning of a claim increases it.
func (c *claimCrowd) mostTaken(during crowdClaim) int {
	most := c.taken(during.start)
	for _, one := range c.claims {
		if one.start.After(during.start) && one.start.Before(during.end) {
			most = max(most, c.taken(one.start))
		}
	}
	return most
}

// check compares the number of successful claims with the expected one, and each refusal with the places that can have been
// taken at some moment of the request.
func (c *claimCrowd) check(places, want int) {
	c.t.Helper()
	placed, contended, searches := 0, 0, 0
	var slowest time.Duration
	for _, one := range c.claims {
		searches, slowest = max(searches, one.searches), max(slowest, one.end.Sub(one.start))
		if one.failure != "" {
			c.t.Error(one.failure)
		}
		if one.isPlaced {
			placed++
			continue
		}
		if one.isContended {
			contended++
			continue
		}
		if most := c.mostTaken(one); most < places {
			c.t.Errorf("a claim was refused when at most %d of %d places were taken", most, places)
		}
	}
	c.t.Logf("%d of %d claims placed, %d contended; at most %d searches; slowest %s",
		placed, len(c.claims), contended, searches, slowest.Round(time.Millisecond))
	if placed != want {
		c.t.Errorf("placed = %d, want %d", placed, want)
	}
	if retries := c.Store.Pool().Retries(); retries > 0 {
		c.t.Errorf("retries = %d, want 0", retries)
	}
}

func TestClaim_CrowdOverHTTP_AsManySucceedAsFit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	for name, layout := range map[string]crowdLayout{"one provider": onOneProvider, "many hosts": onManyHosts, "common pool": inCommonPool} {
		for _, size := range []struct{ claimants, places int }{{64, 1}, {64, 40}, {64, 60}, {256, 40}} {
			for _, order := range []string{"", "id"} {
				if !counts.All() && (size.places != 40 || order != "" && size.claimants > 64) {
					continue
				}
				t.Run(fmt.Sprintf("%s, %d claimants, %d places, order %q", name, size.claimants, size.places, order), func(t *testing.T) {
					crowd := newClaimCrowd(t, layout, size.places, order)
					crowd.claimAtOnce(size.claimants)
					crowd.check(size.places, size.places)
				})
			}
		}
	}
}

// TestClaim_CrowdDuringReleases_AsManySucceedAsFit releases places while clients claim them. A refused client claims again;
// its last claim begins after the last release. While one place after the other becomes free, 64 claims find the same few
// places, so a claim can be contended; its client then claims again too.
func TestClaim_CrowdDuringReleases_AsManySucceedAsFit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	const claimants, places, held = 64, 40, 30
	for name, layout := range map[string]crowdLayout{"one provider": onOneProvider, "many hosts": onManyHosts, "common pool": inCommonPool} {
		t.Run(name, func(t *testing.T) {
			crowd := newClaimCrowd(t, layout, places, "")
			holders := make([]uuid.UUID, held)
			for i := range holders {
				holders[i] = uuid.New()
				if got := crowd.claim(holders[i]); !got.isPlaced {
					t.Fatalf("no place for a holder: %s", got.failure)
				}
			}
			var isFree atomic.Bool
			var group sync.WaitGroup
			for range claimants {
				group.Go(func() {
					var last crowdClaim
					for isLast := false; last.isContended || !isLast && !last.isPlaced && last.failure == ""; {
						isLast = isFree.Load()
						last = crowd.claim(uuid.New())
					}
				})
			}
			for _, holder := range holders {
				crowd.release(holder)
			}
			isFree.Store(true)
			group.Wait()
			crowd.check(places, held+places)
		})
	}
}
