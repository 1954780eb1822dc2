package console

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// historyRows is the number of events of a page, and historyEvery that of seconds between refreshes of the newest ones.
const historyRows, historyEvery = 50, 5

// historyRule is the policy rule of the page, and historyExtensions the version of the extensions with the record of changes.
const historyRule, historyExtensions = "berth:history:list", "1.7"

// historyTopics are those of the API.
var historyTopics = []string{"aggregate", "allocation", "history", "inventory", "name", "node", "node_allocation", "provider", "trait"}

// history lists what writes changed, the newest first. The first page loads itself again. A reader of a project, who may not read all, is
// led to what concerns the project.
func (v *visit) history() error {
	v.extensions = historyExtensions
	filter, err := v.historyFilter(time.Now())
	if err != nil {
		return err
	}
	page := &listPage{Filters: []Input{
		v.input(Input{Name: "provider", Label: "provider or node", Placeholder: "name or UUID"}), v.input(Input{Name: "tree", Label: "tree of", Placeholder: "name or UUID"}),
		v.input(Input{Name: "consumer", Label: "consumer", Placeholder: "UUID"}), v.entry("project", "project"), v.entry("user", "asked by"),
		v.input(Input{Name: "request", Label: "request", Placeholder: "req-…"}), v.choices("topic", "topic", "any", historyTopics...),
		v.input(Input{Name: "since", Label: "since", Placeholder: "2h, 7d, 2026-11-20"}), v.input(Input{Name: "until", Label: "until", Placeholder: "2026-11-20T18:00"}),
	}}
	of := recordView{title: "What has changed"}
	page.Card = v.card("events", of.title, func(ctx context.Context) (*content, error) {
		if len(v.faults) > 0 {
			return &content{Empty: "A filter is invalid."}, nil
		}
		return v.eventCard(ctx, filter, &of)
	})
	if err := v.wait(); err != nil {
		return err
	}
	if problem := page.Card.Problem; problem != nil && !v.fragment && isStatus(problem.Err, http.StatusForbidden, http.StatusBadRequest) {
		if isStatus(problem.Err, http.StatusForbidden) && v.session.Project != "" && v.query("project") == "" {
			return v.redirect(v.with("project", v.session.Project))
		}
		return problem.Err
	}
	v.head("History", "history", page)
	page.Card.Title, v.frame.Facts = of.title, recordFacts(of.settings)
	isMissing := page.Card.Problem != nil && page.Card.Problem.Kind == "missing"
	if v.query("marker") == "" && len(v.faults) == 0 && !isMissing {
		page.Card.Every, v.frame.Every = historyEvery, historyEvery
	}
	return nil
}

// recordView is what a page of events says of all of them: the settings of the record, and what the filter selects.
type recordView struct {
	settings api.HistorySettings
	title    string
}

// isStatus reports whether an error is a response of the API with one of these statuses.
func isStatus(err error, statuses ...int) bool {
	var failed *client.Error
	if errors.As(err, &failed) {
		for _, status := range statuses {
			if failed.Status == status {
				return true
			}
		}
	}
	return false
}

// historyFilter returns the filter of the address. A field that cannot be used is a fault.
func (v *visit) historyFilter(now time.Time) (filter client.HistoryFilter, err error) {
	filter = client.HistoryFilter{UserID: v.query("user"), ProjectID: v.query("project"), Request: v.query("request"), PageSize: historyRows}
	filter.Since, filter.SinceIndex = v.historyBound("since", now)
	filter.Until, filter.UntilIndex = v.historyBound("until", now)
	if topic := v.query("topic"); topic != "" {
		filter.Topics = []string{topic}
	}
	if id, err := parseID(v.query("consumer")); err != nil {
		v.fault("consumer", "%s", err.Error())
	} else if id != uuid.Nil {
		filter.Consumers = []uuid.UUID{id}
	}
	tree, err := v.providerNamed("tree")
	if err != nil {
		return filter, err
	}
	if tree != uuid.Nil {
		filter.InTree = tree.String()
	}
	return filter, v.addProvider(&filter)
}

// addProvider adds the provider or node of the address to a filter, with its consumers. A name that no provider has is one that a provider,
// node or node allocation had, or that a node has.
func (v *visit) addProvider(filter *client.HistoryFilter) error {
	text := v.query("provider")
	if id, err := parseID(text); err == nil {
		if id != uuid.Nil {
			filter.Nodes = []uuid.UUID{id} // or a provider with this UUID
		}
		return nil
	}
	found, err := v.c.api.ProviderList(v.ctx(), client.ProviderFilter{Name: text})
	switch {
	case err != nil:
		return err
	case len(found) > 0:
		filter.Nodes = []uuid.UUID{found[0].UUID}
	default:
		filter.Name = text
	}
	return nil
}

// historyTimes are the forms of times in UTC.
var historyTimes = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// maxDays bounds the days before now of a parameter.
const maxDays = 36500

// historyBound returns the time or index of a parameter: a duration before now, such as 2h or 7d, a time, or an index. It is zero without
// one, or with an invalid one, which is a fault of the field.
func (v *visit) historyBound(name string, now time.Time) (at time.Time, index int64) {
	text := strings.TrimSpace(v.query(name))
	if text == "" {
		return at, 0
	}
	if index, err := strconv.ParseInt(text, 10, 64); err == nil && index > 0 {
		return at, index
	}
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= maxDays {
			return now.AddDate(0, 0, -n), 0
		}
	}
	if length, err := time.ParseDuration(text); err == nil && length > 0 {
		return now.Add(-length), 0
	}
	for _, form := range historyTimes {
		if at, err := time.Parse(form, text); err == nil && at.Year() > 0 {
			return at, 0
		}
	}
	v.fault(name, "Write a duration before now, such as 2h or 7d, a time in UTC, such as 2026-11-20T18:00, or an index.")
	return at, 0
}

// recordFacts is the line below the title: since when the record is complete, how long it is kept, and the number of its events.
func recordFacts(of api.HistorySettings) (facts []Fact) {
	var texts []string
	switch {
	case of.State == "":
		return nil
	case of.State == "on" && of.Since != nil:
		texts = append(texts, "complete since "+moment(*of.Since))
	default:
		texts = append(texts, "recording is "+string(of.State))
	}
	if of.KeepDays > 0 && (of.State != "off" || of.Newest > 0) {
		texts = append(texts, "kept "+counted(int64(of.KeepDays), "day"))
	}
	if of.Newest > 0 && of.Oldest > 0 {
		texts = append(texts, counted(of.Newest-of.Oldest+1, "event"))
	}
	for _, text := range texts {
		facts = append(facts, Fact{Link: Link{Text: text}})
	}
	return facts
}

// mayReadHistory reports whether links to the history are shown.
func (v *visit) mayReadHistory() bool {
	if v.session == nil || v.c.options.Permits == nil {
		return v.session != nil
	}
	s := v.session
	return v.c.options.Permits(Identity{User: s.User, Project: s.Project, Roles: s.Roles, System: s.System}, historyRule)
}

// historyLinks returns the link to what happened to an object, if the user may read it.
func (v *visit) historyLinks(parameter, value string) []Link {
	if !v.mayReadHistory() {
		return nil
	}
	return []Link{{Text: "History", Href: v.href("/history", parameter, value)}}
}

// pastOf returns the link to the history of the provider or consumer that the page is of.
func (v *visit) pastOf() []Link {
	id, err := parseID(v.r.PathValue("uuid"))
	if err != nil || id == uuid.Nil {
		return nil
	}
	parameter := map[string]string{"providers": "provider", "consumers": "consumer"}[strings.Split(v.r.URL.Path, "/")[1]]
	if parameter == "" {
		return nil
	}
	links := v.historyLinks(parameter, id.String())
	for i := range links {
		links[i].Text = "What has happened to it, if it existed"
	}
	return links
}
