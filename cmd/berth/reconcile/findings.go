package reconcile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Kind is the kind of a difference between the server and the source.
type Kind string

// The kinds of findings, in the order of the output.
const (
	// Orphan is a consumer that the source does not have.
	Orphan Kind = "orphan"
	// OrphanMigration is a consumer of type MIGRATION without a migration in progress.
	OrphanMigration Kind = "orphan-migration"
	// Elsewhere are allocations in the tree of a host where the source does not have the consumer.
	Elsewhere Kind = "elsewhere"
	// Missing is a server without allocations on its host.
	Missing Kind = "missing"
	// Amount is a consumer whose amounts differ from the flavor.
	Amount Kind = "amount"
	// EmptyHost is a tree without consumers, whose host the source does not have.
	EmptyHost Kind = "empty-host"
)

// kinds are all kinds in their order.
var kinds = []Kind{Orphan, OrphanMigration, Elsewhere, Missing, Amount, EmptyHost}

// Finding is a difference between the server and the source.
type Finding struct {
	Kind Kind `json:"finding"`
	// Consumer is uuid.Nil for an EmptyHost.
	Consumer  uuid.UUID `json:"consumer_uuid,omitzero"`
	Type      string    `json:"type,omitempty"`
	ProjectID string    `json:"project_id,omitempty"`
	// Root is the root provider of the host, uuid.Nil for findings about no single host. Host is its name.
	Root uuid.UUID `json:"root_provider_uuid,omitzero"`
	Host string    `json:"host,omitempty"`
	// Generation is that of the consumer, or of the root for an EmptyHost; 0 for a consumer that does not exist.
	Generation int64 `json:"generation"`
	// Resources are the amounts that the repair concerns.
	Resources client.ClassAmounts `json:"resources"`
	// Reason is what the source has instead.
	Reason string `json:"reason"`
	// Repair is how the finding can be repaired, or why it cannot.
	Repair string `json:"repair"`
	// Outcome is empty unless a repair was tried.
	Outcome Outcome `json:"outcome,omitempty"`

	// providers are those whose allocations the repair removes.
	providers []uuid.UUID
	// wanted are the amounts that the repair of a Missing claims; nil: unknown.
	wanted map[string]int64
	// userID is that of a Missing.
	userID string
}

// identity is what must be equal in both readings.
type identity struct {
	kind           Kind
	consumer, root uuid.UUID
	generation     int64
}

func (f *Finding) identity() identity {
	return identity{f.Kind, f.Consumer, f.Root, f.Generation}
}

// rules are the settings of a comparison.
type rules struct {
	// types are the types of consumers that can be orphans.
	types []string
	// kinds are the kinds of findings to look for.
	kinds []Kind
	// before is the time before which a consumer, a server and a provider must have been created; zero: any time.
	before time.Time
}

// isOld reports whether a time is old enough for a finding. The zero time is.
func (r *rules) isOld(at time.Time) bool { return r.before.IsZero() || at.Before(r.before) }

// comparison compares a state with the knowledge of a source.
type comparison struct {
	*rules
	state    *state
	known    *knowledge
	hosts    map[uuid.UUID]bool // root providers of hosts that the source knows
	findings []Finding
}

// compare returns the differences in the order of their kinds.
func compare(state *state, known *knowledge, r *rules) []Finding {
	c := &comparison{rules: r, state: state, known: known, hosts: map[uuid.UUID]bool{}, findings: []Finding{}}
	for host := range known.hosts {
		if root, exists := state.rootOf(host, known); exists {
			c.hosts[root] = true
		}
	}
	for _, consumer := range state.consumers {
		c.compareConsumer(&consumer)
	}
	for id, server := range known.servers {
		c.compareServer(id, &server)
	}
	if known.hasAllHosts {
		c.findEmptyHosts()
	}
	c.findings = slices.DeleteFunc(c.findings, func(f Finding) bool { return !slices.Contains(r.kinds, f.Kind) })
	slices.SortFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Consumer.String(), b.Consumer.String()))
	})
	return c.findings
}

// compareConsumer finds the consumers that the source does not have.
func (c *comparison) compareConsumer(consumer *client.ListedConsumer) {
	_, isServer := c.known.servers[consumer.UUID]
	_, isMigrating := c.known.migrations[consumer.UUID]
	// A consumer of a node allocation exists as long as that, whatever the source knows.
	if isServer || isMigrating || consumer.NodeAllocation != nil || !c.isOld(consumer.CreatedAt) || c.known.onlyHosts && !c.usesOnlyHosts(consumer) {
		return
	}
	finding := c.finding(consumer)
	for _, on := range consumer.Allocations {
		finding.providers = append(finding.providers, on.Provider)
	}
	finding.Host, finding.Root = c.onlyRoot(consumer)
	finding.Repair = "delete its allocations"
	switch {
	case slices.Contains(c.types, consumer.Type):
		finding.Kind, finding.Reason = Orphan, "the source does not have it"
	case consumer.Type == "MIGRATION" && c.known.migrations != nil:
		finding.Kind, finding.Reason = OrphanMigration, "no such migration is in progress"
	default:
		return
	}
	c.findings = append(c.findings, finding)
}

func (c *comparison) finding(consumer *client.ListedConsumer) Finding {
	return Finding{
		Consumer: consumer.UUID, Type: consumer.Type, ProjectID: consumer.ProjectID,
		Generation: consumer.Generation, Resources: consumer.Resources,
	}
}

// usesOnlyHosts reports whether all allocations of a consumer are in trees of hosts of the source.
func (c *comparison) usesOnlyHosts(consumer *client.ListedConsumer) bool {
	return !slices.ContainsFunc(consumer.Allocations, func(on client.ListedAllocation) bool { return !c.hosts[on.Root] })
}

// onlyRoot returns the root provider of a consumer that uses one host, for the output.
func (c *comparison) onlyRoot(consumer *client.ListedConsumer) (string, uuid.UUID) {
	roots := c.hostRoots(consumer)
	if len(roots) != 1 {
		return "", uuid.Nil
	}
	for root := range roots {
		return c.state.nameOf(root), root
	}
	return "", uuid.Nil
}

// hostClasses are the resource classes of which instances get some on their host, and never from a shared provider.
var hostClasses = []string{"VCPU", "PCPU", "MEMORY_MB"}

// hostRoots returns the allocations of a consumer by the roots of hosts: the hosts of the source, and trees where the
// consumer has CPUs or memory. Other trees are those of sharing providers.
func (c *comparison) hostRoots(consumer *client.ListedConsumer) map[uuid.UUID][]client.ListedAllocation {
	byRoot := map[uuid.UUID][]client.ListedAllocation{}
	isHost := map[uuid.UUID]bool{}
	for _, on := range consumer.Allocations {
		byRoot[on.Root] = append(byRoot[on.Root], on)
		isHost[on.Root] = isHost[on.Root] || c.hosts[on.Root] || slices.ContainsFunc(on.Resources, func(amount client.ClassAmount) bool {
			return slices.Contains(hostClasses, amount.Class)
		})
	}
	maps.DeleteFunc(byRoot, func(root uuid.UUID, _ []client.ListedAllocation) bool { return !isHost[root] })
	return byRoot
}

// compareServer compares the hosts and the amounts of a server that the source has.
func (c *comparison) compareServer(id uuid.UUID, known *server) {
	if !known.isSettled {
		return
	}
	consumer, hasAllocations := c.state.consumers[id]
	if !hasAllocations {
		consumer = client.ListedConsumer{UUID: id, Type: "INSTANCE", ProjectID: known.projectID, UserID: known.userID}
	}
	roots := c.hostRoots(&consumer)
	home, homeExists := c.state.rootOf(known.home, c.known)
	isAtHome := homeExists && roots[home] != nil
	isElsewhere := false
	for root, allocations := range roots {
		if root != home && !c.mayBeOn(known, root) {
			isElsewhere = true
			c.addElsewhere(&consumer, known, root, allocations)
		}
	}
	switch {
	case known.home == "", c.known.onlyHosts && !homeExists:
	case !isAtHome:
		c.addMissing(&consumer, known, home)
	case !isElsewhere && len(roots) == 1:
		c.addAmount(&consumer, known, home)
	}
}

// mayBeOn reports whether a migration explains allocations on a host.
func (c *comparison) mayBeOn(known *server, root uuid.UUID) bool {
	return slices.ContainsFunc(known.alsoOn, func(host string) bool {
		also, exists := c.state.rootOf(host, c.known)
		return exists && also == root
	})
}

// addElsewhere adds the allocations of a consumer in the tree of a wrong host. Allocations of a consumer that has none on its
// own host stay until those are claimed, so that a server never loses all.
func (c *comparison) addElsewhere(consumer *client.ListedConsumer, known *server, root uuid.UUID, allocations []client.ListedAllocation) {
	if !c.isOld(consumer.UpdatedAt) {
		return
	}
	finding := c.finding(consumer)
	finding.Kind, finding.Root, finding.Host = Elsewhere, root, c.state.nameOf(root)
	finding.Resources, finding.Repair = sumOf(allocations), "remove these allocations"
	for _, on := range allocations {
		finding.providers = append(finding.providers, on.Provider)
	}
	finding.Reason = fmt.Sprintf("the source has it on %s", known.home)
	if known.home == "" {
		finding.Reason = "the source has it on no host"
	}
	c.findings = append(c.findings, finding)
}

// addMissing adds a server without allocations on its host.
func (c *comparison) addMissing(consumer *client.ListedConsumer, known *server, home uuid.UUID) {
	wanted := amountsOf(known.amounts)
	if !c.isOld(known.createdAt) || known.amounts != nil && len(wanted) == 0 {
		return
	}
	finding := c.finding(consumer)
	finding.Kind, finding.Root, finding.Host = Missing, home, known.home
	finding.wanted, finding.userID, finding.Resources = known.amounts, consumer.UserID, wanted
	finding.Reason = "it has no allocations on its host"
	if home == uuid.Nil {
		finding.Reason = "its host has no provider"
	}
	c.findings = append(c.findings, finding)
}

// flavorClasses are the classes that are compared with the flavor.
var flavorClasses = []string{"VCPU", "MEMORY_MB", "DISK_GB"}

// addAmount adds a consumer whose amounts differ from the flavor.
func (c *comparison) addAmount(consumer *client.ListedConsumer, known *server, home uuid.UUID) {
	if known.amounts == nil || !c.isOld(consumer.UpdatedAt) {
		return
	}
	has := map[string]int64{}
	for _, amount := range consumer.Resources {
		has[amount.Class] = amount.Amount
	}
	finding := c.finding(consumer)
	finding.Resources = nil
	for _, class := range flavorClasses {
		if has[class] != known.amounts[class] {
			finding.Resources = append(finding.Resources, client.ClassAmount{Class: class, Amount: has[class]})
			finding.Reason += fmt.Sprintf(", %s=%d", class, known.amounts[class])
		}
	}
	if finding.Resources == nil {
		return
	}
	finding.Kind, finding.Root, finding.Host = Amount, home, c.state.nameOf(home)
	finding.Reason = "the flavor has " + finding.Reason[len(", "):]
	finding.Repair = "none: resize the server, or correct its allocations by hand"
	c.findings = append(c.findings, finding)
}

// sumOf returns the sums of allocations by class.
func sumOf(allocations []client.ListedAllocation) client.ClassAmounts {
	sums := map[string]int64{}
	for _, on := range allocations {
		for _, amount := range on.Resources {
			sums[amount.Class] += amount.Amount
		}
	}
	return amountsOf(sums)
}

// amountsOf returns amounts without those that are 0: first those of flavors, as the server orders them, then by name.
func amountsOf(sums map[string]int64) client.ClassAmounts {
	amounts := client.ClassAmounts{}
	rank := func(class string) int {
		if i := slices.Index(flavorClasses, class); i >= 0 {
			return i
		}
		return len(flavorClasses)
	}
	classes := slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	for _, class := range classes {
		if sums[class] > 0 {
			amounts = append(amounts, client.ClassAmount{Class: class, Amount: sums[class]})
		}
	}
	return amounts
}
