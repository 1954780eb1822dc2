package history

import (
	"context"

	"github.com/berthd/berth/internal/test/model"
)

// drawGiven draws a consumer and its generation for a claim. Half of the claims are for a new consumer.
func (c *Client) drawGiven(ctx context.Context) (who int, given int64, err error) {
	who = c.Dice.IntN(consumers)
	if c.Dice.IntN(3) > 0 {
		err = c.Do(ctx, model.ReadAllocations{Consumer: who})
	}
	return who, c.memory.Consumers[who].Generation, err
}

// drawClaimFound draws a query with one or two request groups. The second one has another class, see model.ClaimFound.
func (c *Client) drawClaimFound(ctx context.Context) (model.Operation, error) {
	who, given, err := c.drawGiven(ctx)
	made := model.ClaimFound{Consumer: who, Given: given, Tree: c.Dice.IntN(providers), Lease: c.drawLease()}
	drawn := c.Dice.Perm(len(classes))[:1+c.Dice.IntN(model.MaxGroups)]
	made.Order = []string{"", "", "id", "pack:" + classes[drawn[0]]}[c.Dice.IntN(4)]
	for _, class := range drawn {
		group := model.RequestGroup{}
		group.Amounts[class] = 1 + c.Dice.Int64N(4)
		if c.Dice.IntN(2) == 0 {
			group.Required = 1 << c.Dice.IntN(len(traits))
		}
		made.Groups = append(made.Groups, group)
	}
	return made, err
}

// drawClaimNamed draws one to three candidates.
func (c *Client) drawClaimNamed(ctx context.Context) (model.Operation, error) {
	who, given, err := c.drawGiven(ctx)
	made := model.ClaimNamed{Consumer: who, Given: given, Lease: c.drawLease()}
	for range 1 + c.Dice.IntN(3) {
		var has model.Allocations
		for range 1 + c.Dice.IntN(2) {
			has[c.Dice.IntN(providers)][c.Dice.IntN(len(classes))] = 1 + c.Dice.Int64N(4)
		}
		made.Candidates = append(made.Candidates, has)
	}
	return made, err
}

// drawPatch draws a patch of one or two allocations, half of them without a generation.
func (c *Client) drawPatch(ctx context.Context) (model.Operation, error) {
	who, given, err := c.drawGiven(ctx)
	made := model.PatchAllocations{Consumer: who, Given: c.drawCompared(given), Lease: c.drawLease()}
	changes := 1 + c.Dice.IntN(2)
	if made.Lease.IsGiven {
		changes = c.Dice.IntN(2)
	}
	for range changes {
		p, class := c.Dice.IntN(providers), c.Dice.IntN(len(classes))
		switch c.Dice.IntN(6) {
		case 0:
			made.Gone[p] = true
			made.Allocations[p] = model.Amounts{}
		case 1:
			made.Allocations[p][class] = model.Removed
		default:
			made.Allocations[p][class] = 1 + c.Dice.Int64N(4)
		}
		if made.Gone[p] {
			made.Allocations[p] = model.Amounts{}
		}
	}
	return made, err
}
