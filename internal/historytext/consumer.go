package historytext

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// untyped is the type of consumers without one.
const untyped = "unknown"

// consumer returns the line of a consumer.
func (t *Texts) consumer(key string, change api.ConsumerChange) string {
	before, after := change.Before, change.After
	head := "consumer " + t.mark("consumer", key, t.Short(key))
	switch {
	case before == nil && after == nil:
		return head
	case before == nil:
		before = &api.ConsumerPart{}
		return line(head+t.owner(after), append(t.amounts(before, after), t.lease("lease ", after.Lease)...))
	case after == nil:
		return line(head+t.owner(before)+" is gone", t.amounts(before, &api.ConsumerPart{}))
	}
	parts := t.amounts(before, after)
	for _, member := range []struct {
		name     string
		was, now *string
	}{{"type", before.ConsumerType, after.ConsumerType}, {"project", before.ProjectID, after.ProjectID}, {"user", before.UserID, after.UserID}} {
		if member.was != nil || member.now != nil {
			parts = append(parts, fmt.Sprintf("%s %s %s %s", member.name, t.idOrNone(member.was), t.arrow(), t.idOrNone(member.now)))
		}
	}
	if before.Lease != nil || after.Lease != nil {
		parts = append(parts, "lease "+t.leaseOrNone(before.Lease)+" "+t.arrow()+" "+t.leaseOrNone(after.Lease))
	}
	if len(parts) == 0 && after.ConsumerGeneration != nil {
		parts = append(parts, fmt.Sprintf("generation %d", *after.ConsumerGeneration))
	}
	return line(head, parts)
}

// owner returns the type and the project of a consumer.
func (t *Texts) owner(of *api.ConsumerPart) string {
	var known []string
	if of.ConsumerType != nil && *of.ConsumerType != untyped {
		known = append(known, *of.ConsumerType)
	}
	if of.ProjectID != nil {
		known = append(known, t.mark("project", *of.ProjectID, t.Short(*of.ProjectID)))
	}
	if known == nil {
		return ""
	}
	return " (" + strings.Join(known, ", ") + ")"
}

func (t *Texts) idOrNone(id *string) string {
	if id == nil {
		return "none"
	}
	return t.Short(*id)
}

// amounts returns what has changed of the allocations, by provider in the order of names.
func (t *Texts) amounts(before, after *api.ConsumerPart) (parts []string) {
	both := maps.Clone(before.Allocations)
	if both == nil {
		both = map[uuid.UUID]api.AllocationsPart{}
	}
	maps.Copy(both, after.Allocations)
	for _, id := range slices.SortedFunc(maps.Keys(both), func(a, b uuid.UUID) int {
		return slices.Compare([]string{t.providerName(a), a.String()}, []string{t.providerName(b), b.String()})
	}) {
		was, is := before.Allocations[id].Resources, after.Allocations[id].Resources
		classes := maps.Clone(was)
		if classes == nil {
			classes = map[string]int64{}
		}
		maps.Copy(classes, is)
		text := t.provider(id)
		for _, class := range sortedKeys(classes) {
			from, had := was[class]
			to, has := is[class]
			switch {
			case !had:
				text += fmt.Sprintf(" +%s %d", class, to)
			case !has:
				text += fmt.Sprintf(" %s%s %d", t.minus(), class, from)
			case from != to:
				text += fmt.Sprintf(" %s %d %s %d", class, from, t.arrow(), to)
			}
		}
		parts = append(parts, text)
	}
	return parts
}

// lease returns a lease behind a label; nothing without one.
func (t *Texts) lease(label string, of *api.Lease) []string {
	if of == nil {
		return nil
	}
	return []string{label + t.leaseOrNone(of)}
}

// leaseOrNone returns the length and the last time of a lease, as in 1h until 2026-11-27T18:00:00Z.
func (t *Texts) leaseOrNone(of *api.Lease) string {
	if of == nil {
		return "none"
	}
	var parts []string
	if of.Seconds != nil {
		parts = append(parts, lengthText(int(*of.Seconds)))
	}
	if of.Until != nil {
		parts = append(parts, "until "+of.Until.UTC().Format("2006-01-02T15:04:05Z"))
	}
	return strings.Join(parts, " ")
}

// lengthText returns a number of seconds in the largest unit of which it is a multiple.
func lengthText(seconds int) string {
	switch {
	case seconds%3600 == 0:
		return fmt.Sprintf("%dh", seconds/3600)
	case seconds%60 == 0:
		return fmt.Sprintf("%dm", seconds/60)
	}
	return fmt.Sprintf("%ds", seconds)
}
