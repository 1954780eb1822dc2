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

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server/postgres"
)

// claimCrowd is a server with some places, and clients that claim them at once over HTTP.
type claimCrowd struct {
	*servertest.Server
	t    *testing.T
	url  string
	http *http.Client
	// query is the only question of each claim.
	query map[string]any
	// holders are consumers that have a place at the beginning.
	holders []uuid.UUID
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
	// failure is a response that is neither a claim nor berth.claim.nothing_fits.
	failure string
}

// claim sends POST /claims for a new consumer.
func (c *claimCrowd) claim(consumer uuid.UUID) (made crowdClaim) {
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
	isRefused := status == http.StatusConflict && len(read.Errors) == 1 && read.Errors[0].Code == "berth.claim.nothing_fits"
	if err != nil || !made.isPlaced && !isRefused {
		made.failure = fmt.Sprintf("%d %s, %v", status, raw, err)
	}
	return made
}

// claimAtOnce lets all claimants send one request each.
func (c *claimCrowd) claimAtOnce(claimants int) []crowdClaim {
	made := make([]crowdClaim, claimants)
	begin := make(chan struct{})
	var group sync.WaitGroup
	for i := range made {
		group.Go(func() {
			<-begin
			made[i] = c.claim(uuid.New())
		})
	}
	close(begin)
	group.Wait()
	return made
}

// check compares the number of claims with the places, and each refusal with the claims that can have come before it.
func (c *claimCrowd) check(claims []crowdClaim, places, want int) {
	c.t.Helper()
	placed, searches := 0, 0
	var slowest time.Duration
	for _, one := range claims {
		searches, slowest = max(searches, one.searches), max(slowest, one.end.Sub(one.start))
		if one.failure != "" {
			c.t.Error(one.failure)
		}
		if one.isPlaced {
			placed++
			continue
		}
		before := 0
		for _, other := range claims {
			if other.isPlaced && other.start.Before(one.end) {
				before++
			}
		}
		if before < places {
			c.t.Errorf("a claim was refused when at most %d of %d places were taken", before, places)
		}
	}
	c.t.Logf("%d of %d claims placed; at most %d searches; slowest %s", placed, len(claims), searches, slowest.Round(time.Millisecond))
	if placed != want {
		c.t.Errorf("placed = %d, want %d", placed, want)
	}
	if retries := c.Store.Pool().Retries(); retries > 0 {
		c.t.Errorf("retries = %d, want 0", retries)
	}
}

func TestClaim_CrowdOverHTTP_AsManySucceedAsFit(t *testing.T) {
	t.Parallel()
	for name, layout := range map[string]crowdLayout{"one provider": onOneProvider, "many hosts": onManyHosts, "common pool": inCommonPool} {
		for _, size := range []struct{ claimants, places int }{{64, 1}, {64, 40}, {64, 60}, {256, 40}} {
			for _, order := range []string{"", "id"} {
				t.Run(fmt.Sprintf("%s, %d claimants, %d places, order %q", name, size.claimants, size.places, order), func(t *testing.T) {
					crowd := newClaimCrowd(t, layout, size.places, order)
					crowd.check(crowd.claimAtOnce(size.claimants), size.places, size.places)
				})
			}
		}
	}
}

// TestClaim_CrowdDuringReleases_AsManySucceedAsFit releases places while clients claim them. A refused client claims again;
// its last claim begins after the last release.
func TestClaim_CrowdDuringReleases_AsManySucceedAsFit(t *testing.T) {
	t.Parallel()
	const claimants, places, held = 64, 40, 30
	for name, layout := range map[string]crowdLayout{"one provider": onOneProvider, "many hosts": onManyHosts, "common pool": inCommonPool} {
		t.Run(name, func(t *testing.T) {
			crowd := newClaimCrowd(t, layout, places, "")
			for range held {
				holder := uuid.New()
				if got := crowd.claim(holder); !got.isPlaced {
					t.Fatalf("no place for a holder: %s", got.failure)
				}
				crowd.holders = append(crowd.holders, holder)
			}
			var isFree atomic.Bool
			last := make([]crowdClaim, claimants)
			var group sync.WaitGroup
			for i := range last {
				group.Go(func() {
					for isLast := false; !isLast && !last[i].isPlaced && last[i].failure == ""; {
						isLast = isFree.Load()
						last[i] = crowd.claim(uuid.New())
					}
				})
			}
			for _, holder := range crowd.holders {
				if status, raw, err := crowd.send("DELETE", "/allocations/"+holder.String(), nil); err != nil || status != http.StatusNoContent {
					t.Errorf("DELETE: %d %s, %v", status, raw, err)
				}
			}
			isFree.Store(true)
			group.Wait()
			crowd.check(last, places, places)
		})
	}
}
