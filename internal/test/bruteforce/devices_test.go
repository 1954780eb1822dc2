package bruteforce_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// deviceWorlds draws deployments of two hosts with up to four devices each, which are alike but for a trait and what is used.
var deviceWorlds = rapid.Custom(func(t *rapid.T) world {
	d := generator{t}
	drawn := world{&bruteforce.Deployment{Aggregates: map[string]string{}}}
	total, used := pick[int64](d, 10, 7, 8), pick[int64](d, 1, 2, 3)
	for host := range 2 {
		root := &bruteforce.Provider{
			Name: fmt.Sprintf("t%d", host), Inventories: map[string]bruteforce.Inventory{"VCPU": bruteforce.NewInventory(8)}, Used: map[string]int64{},
		}
		root.UUID = bruteforce.ID(root.Name)
		drawn.Providers = append(drawn.Providers, root)
		for n := range pick(d, 3, 4, 2) {
			device := &bruteforce.Provider{
				Name: fmt.Sprintf("%s%c", root.Name, 'a'+n), Parent: root.Name, Used: map[string]int64{}, Traits: some(d, 40, "CUSTOM_FAST"),
				Inventories: map[string]bruteforce.Inventory{"VGPU": bruteforce.NewInventory(total)},
			}
			device.UUID = bruteforce.ID(device.Name)
			if d.chance(25) {
				device.Used["VGPU"] = used
			}
			drawn.Providers = append(drawn.Providers, device)
		}
	}
	numberByUUID(drawn.Deployment)
	return drawn
})

// questionsPerDevices is questionsPerDeployment for these deployments, whose queries have many candidates.
const questionsPerDevices = 2

// deviceQuestions draws queries of many groups for devices: of two amounts, of which one can require a trait.
var deviceQuestions = rapid.Custom(func(t *rapid.T) question {
	d := generator{t}
	amounts := []int64{pick[int64](d, 3, 4, 2), pick[int64](d, 2, 5, 3)}
	trait := d.chance(40)
	params := []string{"group_policy=" + pick(d, "none", "none", "none", "isolate")}
	if d.chance(50) {
		params = append(params, "resources=VCPU:1")
	}
	for group := range pick(d, 5, 6, 4, 5) {
		kind := d.below(2)
		params = append(params, fmt.Sprintf("resources%d=VGPU:%d", group, amounts[kind]))
		if trait && kind == 1 {
			params = append(params, fmt.Sprintf("required%d=CUSTOM_FAST", group))
		}
	}
	if d.chance(60) {
		params = append(params, fmt.Sprintf("limit=%d", pick(d, 1, 3, 20)))
	}
	return question{query: strings.Join(params, "&"), minor: 39, setting: d.below(len(settings))}
})

// TestCandidates_EqualGroupsOnEqualDevices_MatchBruteforce: a search that proves for one of several equal devices that it leads
// to no candidate skips the others, and misses no candidate.
func TestCandidates_EqualGroupsOnEqualDevices_MatchBruteforce(t *testing.T) {
	t.Parallel()
	server := setup(t)
	with, without := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn := trial{world: deviceWorlds.Draw(t, "deployment")}
		for range questionsPerDevices {
			drawn.questions = append(drawn.questions, deviceQuestions.Draw(t, "question"))
		}
		server.try(t, drawn, newTally(nil, 0))
		for _, q := range drawn.questions {
			if len(q.answer(drawn.world).Candidates) > 0 {
				with++
			} else {
				without++
			}
		}
	})
	if with+without >= 100*questionsPerDevices && (with < 40 || without < 40) {
		t.Errorf("queries with candidates = %d, without = %d: too few for this test", with, without)
	}
}
