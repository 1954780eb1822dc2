package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
)

const withClaims = "placement 1.39, berth 1.3"

// numaHosts starts a server with two hosts of two NUMA nodes each. The nodes have the free VCPU and MEMORY_MB of the example
// cloud. It returns the UUIDs of the hosts, and those of the nodes with their hosts.
func numaHosts(t *testing.T) (made *explaining, hosts []string, hostOf map[string]string, nodes []string) {
	t.Helper()
	made = &explaining{t: t, Server: servertest.New(t, servertest.Options{StandardNames: true})}
	hostOf = map[string]string{}
	for i, free := range [][2]int{{24, 48128}, {28, 56320}, {16, 31744}, {30, 60416}} {
		if i%2 == 0 {
			hosts = append(hosts, made.provider(fmt.Sprintf("compute-%d", i/2+1), object{}))
		}
		name := fmt.Sprintf("numa-%d", i)
		id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()
		made.must(made.send(http.MethodPost, "/resource_providers", withExplanations, object{"name": name, "uuid": id, "parent_provider_uuid": hosts[i/2]}))
		made.must(made.send(http.MethodPut, "/resource_providers/"+id+"/inventories", withExplanations, object{
			"resource_provider_generation": 0, "inventories": object{"VCPU": object{"total": free[0]}, "MEMORY_MB": object{"total": free[1]}},
		}))
		hostOf[id], nodes = hosts[i/2], append(nodes, id)
	}
	return made, hosts, hostOf, nodes
}

// claimSeveral is the body of a claim of new consumers.
func claimSeveral(count int, relation string, vcpu, memory int, inTree ...string) object {
	var consumers []object
	for range count {
		consumers = append(consumers, object{
			"uuid": uuid.NewString(), "project_id": "hpc", "user_id": "eve", "consumer_type": "TASK", "consumer_generation": nil,
		})
	}
	group := object{"resources": object{"VCPU": vcpu, "MEMORY_MB": memory}}
	if len(inTree) > 0 {
		group["in_tree"] = inTree[0]
	}
	return object{
		"consumers": consumers, "relation": object{relation: "root"},
		"queries": []object{{"groups": object{"_NUMA": group}}},
	}
}

// placesOf returns the root and the node of each consumer in the response to a dry run.
func placesOf(t *testing.T, s *explaining, body object) (roots, nodes []string) {
	t.Helper()
	type response struct {
		Would int
		Body  struct {
			Claims []struct {
				Root     string `json:"root_provider_uuid"`
				Mappings map[string][]string
			}
		}
	}
	made := decode[response](t, s.send(http.MethodPost, "/claims?dry_run=true", withClaims, body))
	if made.Would != http.StatusOK {
		t.Fatalf("would = %d, want 200", made.Would)
	}
	for _, one := range made.Body.Claims {
		roots, nodes = append(roots, one.Root), append(nodes, one.Mappings["_NUMA"]...)
	}
	return roots, nodes
}

// TestClaim_SeveralInRandomOrder_KeepRelation repeats two claims that have no order: two consumers of 20 VCPU on different
// hosts, of which the second host has room on one node only, and four consumers on the first host, where three and four of
// them fit on a node.
func TestClaim_SeveralInRandomOrder_KeepRelation(t *testing.T) {
	t.Parallel()
	s, hosts, hostOf, all := numaHosts(t)
	for range 20 {
		roots, nodes := placesOf(t, s, claimSeveral(2, "apart", 20, 8192))
		if len(roots) != 2 || roots[0] == roots[1] {
			t.Fatalf("roots = %v, want two different ones", roots)
		}
		for i, node := range nodes {
			if hostOf[node] != roots[i] || node == all[2] {
				t.Errorf("consumer %d: node %s of %s, want one with 20 VCPU", i, node, roots[i])
			}
		}
		roots, nodes = placesOf(t, s, claimSeveral(4, "together", 6, 12288, hosts[0]))
		count := map[string]int{}
		for i, node := range nodes {
			if count[node]++; roots[i] != hosts[0] || hostOf[node] != hosts[0] {
				t.Errorf("consumer %d: node %s of %s, want one of %s", i, node, roots[i], hosts[0])
			}
		}
		if len(nodes) != 4 || count[all[0]] > 3 {
			t.Errorf("nodes = %v, want four, and the first one at most three times", count)
		}
	}
}

// TestClaim_Contended_Returns409WithRetryAfter lets each write find a provider that has changed since its search.
func TestClaim_Contended_Returns409WithRetryAfter(t *testing.T) {
	t.Parallel()
	s := &explaining{t: t, Server: servertest.New(t, servertest.Options{DB: dbtest.New(t), StandardNames: true})}
	s.provider("host", object{"VCPU": object{"total": 100}, "MEMORY_MB": object{"total": 100}})
	const reviseBeforeWrites = `
		CREATE FUNCTION revise_before_writes() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN UPDATE resource_providers SET name = name; RETURN NEW; END $$;
		CREATE TRIGGER revise_before_writes BEFORE INSERT ON consumers FOR EACH ROW EXECUTE FUNCTION revise_before_writes()`
	if _, err := s.DB.Pool.Exec(t.Context(), reviseBeforeWrites); err != nil {
		t.Fatal(err)
	}
	for count := 1; count <= 2; count++ {
		body := claimSeveral(count, "together", 1, 1)
		w := s.send(http.MethodPost, "/claims", withClaims, body)
		if w.Code != http.StatusConflict || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%d consumers: response = %d with Retry-After %q, want 409 with 1", count, w.Code, w.Header().Get("Retry-After"))
		}
		const detail = "There was a conflict when trying to complete your request.\n\n Others were faster 16 times. Nothing was changed; send it again.  "
		if got := errorOf(t, w); got.Code != "berth.claim.contended" || got.Detail != detail {
			t.Errorf("%d consumers: error = %+v, want %q", count, got, detail)
		}
	}
}

// TestClaim_SeveralUndecided_Returns409WithItsCode has a host with units for two consumers, of which the providers cannot give the
// parts: the search does not try all parts, and reports that it has not.
func TestClaim_SeveralUndecided_Returns409WithItsCode(t *testing.T) {
	t.Parallel()
	s := &explaining{t: t, Server: servertest.New(t, servertest.Options{StandardNames: true})}
	host := s.provider("host", object{})
	for i, total := range []int{3, 3, 2} {
		id := uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, "node ", i)).String()
		s.must(s.send(http.MethodPost, "/resource_providers", withClaims, object{"name": fmt.Sprint("node-", i), "uuid": id, "parent_provider_uuid": host}))
		s.must(s.send(http.MethodPut, "/resource_providers/"+id+"/inventories", withClaims, object{
			"resource_provider_generation": 0, "inventories": object{"VCPU": object{"total": total, "min_unit": 2}},
		}))
	}
	body := claimSeveral(2, "together", 1, 1)
	body["queries"] = []object{{"groups": object{"": object{"resources": object{"VCPU": 4}}}, "can_split": []string{"VCPU"}}}
	w := s.send(http.MethodPost, "/claims", withClaims, body)
	var response struct {
		Errors []struct {
			Code, Detail string
			Fit          int
			Exact        *bool
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &response); err != nil {
		t.Fatal(err)
	}
	got := response.Errors
	const detail = "There was a conflict when trying to complete your request.\n\n Not found. 1 of 2 consumers that are together by root can be placed. " +
		"The search ended before it had tried every choice.  "
	if w.Code != http.StatusConflict || len(got) != 1 || got[0].Code != "berth.claim.undecided" || got[0].Detail != detail ||
		got[0].Fit != 1 || got[0].Exact == nil || *got[0].Exact {
		t.Errorf("response = %d %s, want berth.claim.undecided with 1 that fits, not exact", w.Code, w.Body)
	}
}
