package console

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/historytext"
)

// maxLinesOfEvent is the number of objects of an event that a page has, and maxLinesOfRequest that on the page of a request.
const maxLinesOfEvent, maxLinesOfRequest = 6, 200

// eventCard returns a page of events.
func (v *visit) eventCard(ctx context.Context, filter client.HistoryFilter, of *recordView) (_ *content, err error) {
	of.settings, err = v.c.api.HistorySettingsShow(ctx)
	if err != nil && !errors.Is(err, client.ErrForbidden) { // a reader of a project may list events
		return nil, err
	}
	found, err := v.c.api.HistoryPage(ctx, filter, v.query("marker"))
	if errors.Is(err, client.ErrHistoryOff) {
		return &content{Message: Message{
			Text:    "No history is kept: the record of changes was never on. An administrator turns it on with this command. From then on, each write is here, with the user who asked for it.",
			Command: "berth history enable",
		}}, nil
	}
	if err != nil {
		return nil, err
	}
	of.settings.Oldest, of.settings.Newest = found.Oldest, found.Newest // the list has put more in order
	names := v.eventNames(ctx, found.Events)
	of.title = v.historyTitle(&filter, names)
	shown := &content{Notice: recordNotice(of.settings), Message: v.noEvents(&found)}
	if len(found.Events) > 0 || found.Marker != "" {
		shown.Pager.Text = counted(int64(len(found.Events)), "event")
	}
	shown.Table = Table{Caption: "Events", Kind: "events", Heads: heads("Time (UTC)", "What has changed", "Asked by", "Request", "#Index")}
	rows := eventRows{v: v, texts: historytext.Texts{Names: names}, wanted: wantedOf(&filter)}
	for i := range found.Events {
		shown.Table.Rows = append(shown.Table.Rows, rows.row(&found.Events[i]))
	}
	if found.Marker != "" {
		shown.Pager.Text += " on this page, more on the next"
		shown.Pager.Next = v.with("marker", found.Marker)
	}
	if v.query("marker") != "" {
		shown.Pager.First = v.with("marker", "")
	}
	if found.CompleteSince != nil && v.query("since") != "" {
		shown.Foot = []Link{{Text: "Complete since " + moment(*found.CompleteSince) + "."}}
	}
	return shown, nil
}

// historyTitle returns what the most specific filter selects.
func (v *visit) historyTitle(filter *client.HistoryFilter, names historytext.Names) string {
	texts := historytext.Texts{Names: names}
	nameOf := func(parameter, id string) string {
		key, err := uuid.Parse(v.query(parameter))
		if err != nil {
			return v.query(parameter)
		}
		return cmp.Or(names.Providers[key], names.Nodes[key], texts.Short(id))
	}
	switch {
	case len(filter.Consumers) > 0:
		return "What has happened to consumer " + texts.Short(filter.Consumers[0].String())
	case len(filter.Nodes) > 0:
		return "What has happened to " + nameOf("provider", filter.Nodes[0].String())
	case filter.Name != "":
		return "What has happened to " + filter.Name
	case filter.InTree != "":
		return "What has happened to the tree of " + nameOf("tree", filter.InTree)
	case filter.Request != "":
		return "What the request has changed"
	}
	return "What has changed"
}

// recordNotice is shown above events while the record is not on.
func recordNotice(settings api.HistorySettings) *Notice {
	switch settings.State {
	case "off":
		return &Notice{Title: "Recording is off.", Text: "Later changes are not here. An administrator turns it on with 'berth history enable'."}
	case "starting":
		return &Notice{Kind: "s", Title: "Recording starts.", Text: "Until transactions from before have ended, changes can be missing or lack who asked for them."}
	}
	return nil
}

// noEvents is shown in place of an empty page.
func (v *visit) noEvents(found *client.HistoryPage) Message {
	switch {
	case found.Marker != "":
		return Message{Text: "Nothing on this page passes the filters. There are older events on the next one."}
	case v.with() != v.base+v.r.URL.EscapedPath():
		return Message{Text: "Nothing that is recorded passes the filters.", Links: []Link{{Text: "The history without filters", Href: v.href("/history")}}}
	}
	return Message{Text: "Nothing has changed since the record was turned on. Writes of every client are here as soon as they have their answers."}
}

// eventNames returns the names of objects in events: of providers those that exist, then those that the record has.
func (v *visit) eventNames(ctx context.Context, events []client.HistoryEvent) historytext.Names {
	names := historytext.NewNames()
	names.Aggregates = v.c.names.Load().aggregates
	names.AddRecorded(events)
	missing, nodes, allocations := historytext.ChangedIDs(events)
	// Objects without a name have their short UUIDs: an error does not matter.
	if len(unnamed(names.Providers, missing)) > 0 {
		listed, _ := v.c.api.ListPage(ctx, "resource_providers", url.Values{"limit": {strconv.Itoa(mapPage)}, "fields": {"name"}})
		for _, p := range listed.Providers {
			if missing[p.UUID] {
				names.Providers[p.UUID] = p.Name
			}
		}
	}
	v.addNodeNames(ctx, &names, len(nodes) > 0, len(allocations) > 0)
	if ids := unnamed(names.Providers, missing); len(ids) > 0 {
		recorded, _ := v.c.api.HistoryPage(ctx, client.HistoryFilter{Providers: ids[:min(len(ids), maxMembers)], Topics: []string{"provider"}}, "")
		names.AddRecorded(recorded.Events)
	}
	return names
}

// unnamed returns the UUIDs that have no name, in order.
func unnamed(names map[uuid.UUID]string, ids map[uuid.UUID]bool) (found []uuid.UUID) {
	for id := range ids {
		if names[id] == "" {
			found = append(found, id)
		}
	}
	slices.SortFunc(found, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	return found
}

// addNodeNames adds the names of nodes and node allocations that exist.
func (v *visit) addNodeNames(ctx context.Context, names *historytext.Names, hasNodes, hasAllocations bool) {
	if hasNodes {
		listed, _ := v.c.machines.NodeList(ctx, baremetal.NodeFilter{Most: maxNamed})
		for _, node := range listed {
			if node.Name != nil {
				names.Nodes[node.UUID] = *node.Name
			}
		}
	}
	if hasAllocations {
		listed, _ := v.c.machines.NodeAllocationList(ctx, baremetal.AllocationFilter{Most: maxNamed})
		for _, allocation := range listed {
			if allocation.Name != nil {
				names.NodeAllocations[allocation.UUID] = *allocation.Name
			}
		}
	}
}

// eventRows makes rows of events. Sentences about wanted objects come first. The marks are those of the event whose sentences are made.
type eventRows struct {
	v      *visit
	texts  historytext.Texts
	wanted []string
	marks  []objectMark
}

// objectMark is an object in a sentence: its link, and its UUID or name.
type objectMark struct {
	link Link
	key  string
}

// wantedOf returns the keys of the objects that a filter selects.
func wantedOf(filter *client.HistoryFilter) []string {
	keys := []string{filter.ProjectID, filter.InTree}
	for _, id := range slices.Concat(filter.Consumers, filter.Nodes) {
		keys = append(keys, id.String())
	}
	return slices.DeleteFunc(keys, func(key string) bool { return key == "" })
}

// row returns the row of an event: when, a sentence for each object, who asked, and by which request.
func (e *eventRows) row(event *client.HistoryEvent) []Cell {
	day := Link{Text: event.At.UTC().Format("2006-01-02")}
	return []Cell{{Link: Link{Text: clock(event.At)}, Sub: &day}, {Sentences: e.sentences(event)}, e.caller(event), e.request(event), e.index(event)}
}

// index returns the index of an event, which a request that found nothing does not have.
func (e *eventRows) index(event *client.HistoryEvent) Cell {
	if event.Kind == client.HistoryRefused {
		return figure(none)
	}
	return figure(number(event.Index))
}

// sentences returns a sentence for each object that an event changed, with links to the objects.
func (e *eventRows) sentences(event *client.HistoryEvent) (all [][]Link) {
	if event.Kind == client.HistoryRefused {
		return [][]Link{{{Text: e.texts.Lines(event)[0], Href: e.v.href("/explanations/" + event.RequestID)}}}
	}
	e.marks = nil
	e.texts.Mark = func(kind, key, text string) string {
		e.marks = append(e.marks, objectMark{Link{Text: text, Href: e.objectHref(&event.Changes, kind, key)}, key})
		return "\x00" + strconv.Itoa(len(e.marks)-1) + "\x00"
	}
	most := maxLinesOfEvent
	if e.v.query("request") != "" {
		most = maxLinesOfRequest
	}
	var others [][]Link
	for _, line := range e.texts.Lines(event) {
		if parts, isWanted := e.split(line); isWanted {
			all = append(all, parts)
		} else {
			others = append(others, parts)
		}
	}
	all = append(all, others...)
	if more := len(all) - most; more > 0 {
		rest := Link{Text: "and " + number(int64(more)) + " more"}
		if id := event.By.RequestID; id != nil && most < maxLinesOfRequest {
			rest.Href = e.v.href("/history", "request", *id)
		}
		all = append(all[:most], []Link{rest})
	}
	return all
}

// split returns the texts and links of a line, and whether a wanted object is in it. Marks are between NUL characters, which names of the
// API do not have.
func (e *eventRows) split(line string) (parts []Link, isWanted bool) {
	for i, text := range strings.Split(line, "\x00") {
		if at, err := strconv.Atoi(text); i%2 == 1 && err == nil && at >= 0 && at < len(e.marks) {
			parts, isWanted = append(parts, e.marks[at].link), isWanted || slices.Contains(e.wanted, e.marks[at].key)
		} else if text != "" {
			parts = append(parts, Link{Text: text})
		}
	}
	return parts, isWanted
}

// objectHref returns the address of an object, or that of its history if the event deleted it.
func (e *eventRows) objectHref(changes *api.HistoryChanges, kind, key string) string {
	path, parameter, isGone := "", "provider", false
	switch kind {
	case "provider":
		change, ok := changes.ResourceProviders[key]
		path, isGone = "/providers/", ok && change.After == nil
	case "consumer":
		path, parameter, isGone = "/consumers/", "consumer", changes.Consumers[key].After == nil
	case "node":
		path, isGone = "/baremetal/nodes/", changes.Nodes[key].After == nil
	case "node allocation":
		if path = "/baremetal/allocations/"; changes.NodeAllocations[key].After == nil {
			return ""
		}
	case "resource class":
		path = "/classes/"
	case "trait":
		path = "/traits/"
	case "project":
		return e.v.href("/history", "project", key)
	}
	if isGone {
		return e.v.href("/history", parameter, key)
	}
	return e.v.href(path + url.PathEscape(key))
}

// caller returns who asked for an event, and in which project; or the part of the server that did it.
func (e *eventRows) caller(event *client.HistoryEvent) Cell {
	by := &event.By
	switch {
	case by.UserID != nil:
		cell := linked(e.texts.Short(*by.UserID), e.v.href("/history", "user", *by.UserID))
		sub := ""
		if by.ProjectID != nil && *by.ProjectID != "" {
			sub = "in " + e.texts.Short(*by.ProjectID)
		}
		if by.ServiceUserID != nil {
			sub = strings.TrimSpace(sub + " by " + e.texts.Short(*by.ServiceUserID))
		}
		if sub != "" {
			cell.Sub = &Link{Text: sub}
		}
		return cell
	case by.Process != nil:
		return Cell{Link: Link{Text: *by.Process}, Sub: &Link{Text: "the service"}}
	}
	return plain(none)
}

// request returns the request of an event, and its operation.
func (e *eventRows) request(event *client.HistoryEvent) Cell {
	by := &event.By
	if by.RequestID == nil {
		return plain(none)
	}
	cell := linked(e.texts.Request(by), e.v.href("/history", "request", *by.RequestID))
	if by.Operation != nil {
		cell.Sub = &Link{Text: *by.Operation}
	}
	return cell
}
