package reconcile

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// number returns a UUID.
func number(digit byte) uuid.UUID { return uuid.UUID{15: digit} }

func TestReconcile_FileLines_AreParsed(t *testing.T) {
	t.Parallel()
	text := "# known\r\n\n" + number(1).String() + "\tcompute-1\n " + number(2).String() + "  # no host\n" +
		number(3).String() + "\tcompute-1\n" + number(3).String() + "\tcompute-2 \r\n"
	source, err := newFileSource("-", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // standard input is read once
		known, err := source.read(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		one, two, three := known.servers[number(1)], known.servers[number(2)], known.servers[number(3)]
		if len(known.servers) != 3 || !one.isSettled || one.home != "compute-1" || two.isSettled || !three.isSettled ||
			three.home != "compute-1" || len(three.alsoOn) != 1 || three.alsoOn[0] != "compute-2" || len(known.hosts) != 2 {
			t.Errorf("servers = %+v, hosts = %v", known.servers, known.hosts)
		}
	}
	absent, err := source.absent(t.Context(), []uuid.UUID{number(1), number(9)}, nil)
	if err != nil || !maps.Equal(absent, map[uuid.UUID]bool{number(9): true}) {
		t.Errorf("absent = %v, %v", absent, err)
	}
}

func TestReconcile_ProviderAge_IsProvenByLaterAllocations(t *testing.T) {
	t.Parallel()
	now := time.Now()
	read := &state{consumers: map[uuid.UUID]client.ListedConsumer{}}
	for digit := byte(1); digit <= 5; digit++ {
		read.providers = append(read.providers, api.ProviderWithParts{UUID: number(digit)})
	}
	for digit, age := range map[byte]time.Duration{3: 2 * time.Hour, 4: time.Minute} {
		read.consumers[number(100+digit)] = client.ListedConsumer{Allocations: client.ListedAllocations{{Provider: number(digit), CreatedAt: now.Add(-age)}}}
	}
	got := read.oldProviders(now.Add(-time.Hour))
	want := map[uuid.UUID]bool{number(1): true, number(2): true, number(3): true, number(4): false, number(5): false}
	if !maps.Equal(got, want) {
		t.Errorf("old = %v, want %v", got, want)
	}
}

func TestReconcile_Max_IsNumberOrPercentage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		max         string
		total, want int
	}{{"10%", 50, 20}, {"10%", 1001, 101}, {"0%", 1000, 20}, {"5", 1000, 5}, {"0", 1000, 0}} {
		if got := (&repairs{max: test.max}).limit(test.total); got != test.want {
			t.Errorf("--max %s of %d permits %d, want %d", test.max, test.total, got, test.want)
		}
	}
}

func TestReconcile_PlanInverse_ReversesTwice(t *testing.T) {
	t.Parallel()
	amounts := func(vcpus int64) map[uuid.UUID]client.Resources {
		return map[uuid.UUID]client.Resources{number(1): {"VCPU": vcpus}}
	}
	for name, test := range map[string]struct {
		change    ConsumerChange
		after     *int64
		backAgain *int64
	}{
		"deleted": {ConsumerChange{Generation: new(int64(3)), Before: amounts(1), After: nil}, nil, new(int64(1))},
		"created": {ConsumerChange{After: amounts(1)}, new(int64(1)), nil},
		"changed": {ConsumerChange{Generation: new(int64(3)), Before: amounts(1), After: amounts(2)}, new(int64(4)), new(int64(5))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := &Plan{Changes: []Change{{Consumer: &test.change}}}
			inverse := plan.inverse()
			reversed, back := inverse.Changes[0].Consumer, inverse.inverse().Changes[0].Consumer
			if !equalGenerations(reversed.Generation, test.after) || !equalGenerations(back.Generation, test.backAgain) {
				t.Errorf("generations = %v and %v, want %v and %v", reversed.Generation, back.Generation, test.after, test.backAgain)
			}
			if !equalAllocations(reversed.Before, test.change.After) || !equalAllocations(reversed.After, test.change.Before) || !equalAllocations(back.After, test.change.After) {
				t.Errorf("reversed = %+v, back = %+v", reversed, back)
			}
		})
	}
}
