package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

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
	v.frame.Title, v.frame.Nav, v.frame.Body, v.frame.AsOf = "Dry-run claim", "candidates", page, time.Now()
	v.frame.Crumbs = []Link{{Text: "Candidates", Href: v.localAddress(form.Get("back"))}, {Text: "Dry-run claim"}}
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
		for _, one := range slices.Concat(tree.Providers, tree.Sharing) {
			known[one.UUID] = one
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
