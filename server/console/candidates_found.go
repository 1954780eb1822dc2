package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/querytext"
)

// foundCandidates are the candidates of a query. Funnel is the page that explains them, which few load by themselves.
type foundCandidates struct {
	Title, Note, Funnel string
	OnePerTree          string // the address of the query for one candidate of each tree, if one tree has filled the page
	IsFew               bool
	Query               []QueryPart
	Commands            []Link // the text is a name, the address a command
	Rows                []candidateRow
	Next, More          string
}

// candidateRow is a candidate; Same are the others that differ by a sharing provider only. The open one has a tree, and
// what a claim sends.
type candidateRow struct {
	Badge              Badge
	Name               Link
	Where, Show, Claim string
	Chips, Same        []Link
	Tree               *Tree
}

// findCandidates asks for candidates.
func (v *visit) findCandidates(page *explorer, q *querytext.Question, asked []querytext.Parameter) error {
	if q.Values["limit"] == nil {
		asked = append(slices.Clone(asked), querytext.Parameter{Name: "limit", Value: candidateLimit})
	}
	start := time.Now()
	answer, err := v.c.api.QuestionList(v.ctx(), querytext.Encode(asked))
	if errors.Is(err, client.ErrExtensions) { // a query of Placement's own parameters needs none
		answer, err = v.c.api.QuestionList(client.WithExtensions(v.ctx(), ""), querytext.Encode(asked))
	}
	if err != nil {
		return err
	}
	took := time.Since(start)
	page.Found = v.found(q, asked, answer)
	page.Found.Note = fmt.Sprintf("%d ms", took.Milliseconds())
	for _, summary := range answer.ProviderSummaries {
		page.Classes = append(page.Classes, slices.Collect(maps.Keys(summary.Resources))...)
		page.Traits = append(page.Traits, summary.Traits...)
	}
	page.Classes, page.Traits = unique(page.Classes), unique(page.Traits)
	return nil
}

// found returns the candidates of an answer from the number in the address on, with one of them open.
func (v *visit) found(q *querytext.Question, asked []querytext.Parameter, answer api.Candidates) *foundCandidates {
	found := &foundCandidates{IsFew: len(answer.AllocationRequests) < 5, Funnel: v.href("/candidates/funnel") + "?" + querytext.Encode(v.asked())}
	found.commands(v, asked)
	trees := map[uuid.UUID]bool{}
	all := draw.Candidates(answer, v.query("show"))
	for _, candidate := range all {
		trees[candidate.Root] = true
	}
	first := ""
	if limit := cmp.Or(append(q.Values["limit"], candidateLimit)...); limit == strconv.Itoa(len(answer.AllocationRequests)) {
		first = "The first "
		if len(trees) == 1 && len(answer.AllocationRequests) > 1 && q.Values["limit_per_tree"] == nil && q.Values["in_tree"] == nil {
			found.OnePerTree = v.with("limit_per_tree", "1", "from", "", "show", "")
		}
	}
	if len(all) == 0 {
		found.Title = "No candidates"
	}
	found.Title = cmp.Or(found.Title, fmt.Sprintf("%s%s in %s", first, counted(int64(len(answer.AllocationRequests)), "candidate"), counted(int64(len(trees)), "tree")))
	from, _ := strconv.Atoi(v.query("from"))
	from = min(max(from, 0), len(all))
	shown, names := v.named(all[from:])
	open := max(slices.IndexFunc(shown, func(candidate *draw.Candidate) bool { return candidate.Key == v.query("show") }), 0)
	for i, candidate := range shown {
		found.Rows = append(found.Rows, v.candidateRow(q, candidate, Badge{strconv.Itoa(from + i + 1), i == open}, names))
	}
	if next := from + len(shown); next < len(all) {
		found.Next, found.More = v.with("from", strconv.Itoa(next), "show", ""), fmt.Sprintf("%d more", len(all)-next)
	}
	return found
}

// unique returns different names in their order.
func unique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// named returns the first candidates, of as many trees as can be named, and the names of their providers: UUIDs if the
// caller may not read trees.
func (v *visit) named(all []*draw.Candidate) ([]*draw.Candidate, func(uuid.UUID) string) {
	var mutex sync.Mutex
	var loading sync.WaitGroup
	names, roots, n := map[uuid.UUID]string{}, map[uuid.UUID]bool{}, 0
	for ; n < min(len(all), maxCandidates) && (roots[all[n].Root] || len(roots) < maxNamedTrees); n++ {
		root := all[n].Root
		if roots[root] {
			continue
		}
		roots[root] = true
		loading.Go(func() {
			tree, err := v.c.api.TreeShow(v.ctx(), root, client.TreeSharing)
			if err != nil {
				return
			}
			mutex.Lock()
			defer mutex.Unlock()
			for _, provider := range slices.Concat(tree.Providers, tree.Sharing) {
				names[provider.UUID] = provider.Name
			}
		})
	}
	loading.Wait()
	return all[:n], func(id uuid.UUID) string { return cmp.Or(names[id], short(id.String())) }
}

// candidateRow draws a candidate: what is used on its providers, and what it takes, in the colors of the groups.
func (v *visit) candidateRow(q *querytext.Question, of *draw.Candidate, badge Badge, name func(uuid.UUID) string) candidateRow {
	result := candidateRow{Badge: badge, Name: v.provider(of.Root, name), Show: v.with("show", of.Key)}
	amounts, classes := q.ByGroup()
	tree := &Tree{Caption: "Providers of the candidate", Head: "Provider and group", Classes: classes}
	var depths []int
	var where []string
	for _, item := range of.Rows(q.Suffixes, amounts, name) {
		row := TreeRow{Link: v.provider(item.UUID, name), Mode: map[bool]string{true: "shared"}[of.IsShared(item.UUID)]}
		if len(item.Uses) > 0 && item.UUID != of.Root {
			where = append(where, strings.TrimLeft(strings.TrimPrefix(row.Text, result.Name.Text), "_-. "))
		}
		result.Chips = append(result.Chips, row.take(q, classes, item)...)
		tree.Rows, depths = append(tree.Rows, row), append(depths, item.Depth)
	}
	for i, lines := range treeLines(depths) {
		tree.Rows[i].Lines = lines
	}
	result.Where = strings.Join(where, ", ")
	for _, other := range of.Same {
		for _, id := range other.Used() {
			if other.IsShared(id) {
				result.Same = append(result.Same, Link{Text: name(id), Href: v.with("show", other.Key)})
			}
		}
	}
	if badge.On {
		text, _ := json.Marshal(of.Candidate) // of strings and numbers
		result.Tree, result.Claim = tree, string(text)
	}
	return result
}

// take fills the row of a provider: the groups that it serves, and the amounts. It returns what the candidate uses up.
func (r *TreeRow) take(q *querytext.Question, classes []string, of draw.CandidateRow) (usedUp []Link) {
	for _, suffix := range of.Groups {
		r.Chips = append(r.Chips, Link{Text: cmp.Or(suffix, "no group"), Kind: groupKind(q, suffix)})
	}
	for _, class := range classes {
		use, ok := of.Uses[class]
		if !ok {
			r.Amounts = append(r.Amounts, Amount{Class: class})
			continue
		}
		r.Amounts = append(r.Amounts, usedAndTaken(q, class, use))
		if use.Used+use.Taken == use.Capacity {
			usedUp = append(usedUp, Link{Text: "uses up " + class + " of " + r.Text})
		}
	}
	return usedUp
}

func (v *visit) provider(id uuid.UUID, name func(uuid.UUID) string) Link {
	return Link{Text: name(id), Href: v.href("/providers/" + id.String())}
}

func groupKind(q *querytext.Question, suffix string) string {
	return draw.GroupKind(slices.Index(q.Suffixes, suffix))
}

// usedAndTaken returns the amount of a class on a provider, with a piece for each group.
func usedAndTaken(q *querytext.Question, class string, use draw.CandidateUse) Amount {
	whole := Bar{Width: 132, Height: 8, Capacity: float64(use.Capacity), Pieces: []draw.Piece{{Amount: float64(use.Used), Kind: draw.UsedNow}}}
	result := takenOf(class, Bar{Capacity: whole.Capacity, Pieces: slices.Clone(whole.Pieces)}, float64(use.Taken), groupKind(q, use.Parts[0].Group))
	for _, part := range use.Parts {
		whole.Pieces = append(whole.Pieces, draw.Piece{Amount: float64(part.Amount), Kind: groupKind(q, part.Group)})
	}
	result.Bar = bar(whole)
	if full := amount(class, use.Taken); !strings.HasSuffix(result.Capacity, full[strings.Index(full, " ")+1:]) && strings.Contains(full, " ") {
		result.Plus.Text = "+" + full // in another unit than the capacity
	}
	return result
}

// dryClaim is the result of the dry run of a claim.
type dryClaim struct {
	Path, Body string
	Notice     Notice
	Left       Table
}

// claim shows what a claim of a candidate would do. It is always a dry run.
func (v *visit) claim() error {
	form, err := v.posted()
	if err != nil {
		return err
	}
	var candidate api.Candidate
	err = json.Unmarshal([]byte(form.Get("candidate")), &candidate)
	wanted, wantedErr := client.ClaimOf(candidate, cmp.Or(v.session.Project, "dry-run"), cmp.Or(v.session.User, "dry-run"), "INSTANCE")
	for _, resources := range wanted.Allocations {
		if len(resources) == 0 { // the client leaves it out, and the API rejects it
			err = errors.New("a provider without resources")
		}
	}
	if err = cmp.Or(err, wantedErr); err != nil || len(wanted.Allocations) == 0 {
		return invalid("The form has no valid candidate.")
	}
	consumer := uuid.New()
	ctx, runs := client.WithDryRun(v.ctx())
	record := &client.Consumer{Allocations: wanted.Allocations, ProjectID: wanted.ProjectID, UserID: wanted.UserID, Type: wanted.Type}
	refused := v.c.api.AllocationReplace(ctx, consumer, record, wanted.Mappings)
	if len(runs.Results()) == 0 {
		return refused
	}
	body, err := json.MarshalIndent(map[string]any{
		"allocations": candidate.Allocations, "mappings": candidate.Mappings, "consumer_generation": nil,
		"consumer_type": record.Type, "project_id": record.ProjectID, "user_id": record.UserID,
	}, "", "  ")
	page := &dryClaim{Path: "PUT /allocations/" + consumer.String(), Body: string(body), Notice: Notice{Kind: "g", Title: "It would be granted.", Text: "Nothing was written."}}
	var failed *client.Error
	if errors.As(refused, &failed) {
		page.Notice = Notice{Kind: "r", Title: "It would be refused.", Text: fmt.Sprintf("%d: %s", failed.Status, failed.Detail)}
	}
	v.head("Dry-run claim", "candidates", page, Link{Text: "Candidates", Href: v.localAddress(form.Get("back"))}, Link{Text: "Dry-run claim"})
	return cmp.Or(err, v.left(page, wanted.Allocations, refused == nil))
}

// left fills the table of what is free of each inventory, before and after the claim.
func (v *visit) left(page *dryClaim, allocations map[uuid.UUID]client.Resources, granted bool) error {
	page.Left = Table{Caption: "What is left", Heads: heads("Provider", "Class", "#Claimed", "#Free now", "#Free after")}
	known := map[uuid.UUID]client.ShownProvider{}
	for id := range allocations {
		if known[id].UUID == id {
			continue
		}
		tree, err := v.c.api.TreeShow(v.ctx(), id, client.TreeInventories, client.TreeUsages, client.TreeSharing)
		if err != nil {
			return err
		}
		for _, provider := range slices.Concat(tree.Providers, tree.Sharing) {
			known[provider.UUID] = provider
		}
	}
	byName := func(a, b uuid.UUID) int { return strings.Compare(known[a].Name, known[b].Name) }
	for _, id := range slices.SortedFunc(maps.Keys(allocations), byName) {
		for _, class := range slices.Sorted(maps.Keys(allocations[id])) {
			taken, has := allocations[id][class], known[id].Inventories[class]
			if has.AllocationRatio == nil {
				continue // it is gone
			}
			now := whole(draw.InventoryBar(has, 0).Capacity) - known[id].Usages[class]
			after := figure(none)
			if granted {
				after.Text, after.Strong = number(now-taken), true
				after.Sub = map[bool]*Link{true: {Text: "no second one of this size"}}[now-taken < taken]
			}
			page.Left.Rows = append(page.Left.Rows, []Cell{
				linked(known[id].Name, v.href("/providers/"+id.String())), plain(class), figure(number(taken)), figure(number(now)), after,
			})
		}
	}
	return nil
}
