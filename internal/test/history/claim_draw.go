package history

import "context"

// drawGiven draws a consumer and its generation for a claim. Half of the claims are for a new consumer.
func (c *Client) drawGiven(ctx context.Context) (who int, given int64, err error) {
	who = c.Dice.IntN(consumers)
	if c.Dice.IntN(3) > 0 {
		err = c.Do(ctx, getAllocations{who: who})
	}
	return who, c.memory.Consumers[who].Generation, err
}

// drawClaimFound draws a query with one or two request groups. The second one has another class, see claimFound.whole.
func (c *Client) drawClaimFound(ctx context.Context) (Operation, error) {
	who, given, err := c.drawGiven(ctx)
	made := claimFound{who: who, given: given, tree: c.Dice.IntN(providers)}
	drawn := c.Dice.Perm(len(classes))[:1+c.Dice.IntN(maxGroups)]
	made.order = []string{"", "", "id", "pack:" + classes[drawn[0]]}[c.Dice.IntN(4)]
	for _, class := range drawn {
		group := requestGroup{}
		group.amounts[class] = 1 + c.Dice.Int64N(4)
		if c.Dice.IntN(2) == 0 {
			group.required = 1 << c.Dice.IntN(len(traits))
		}
		made.groups = append(made.groups, group)
	}
	return made, err
}

// drawClaimNamed draws one to three candidates.
func (c *Client) drawClaimNamed(ctx context.Context) (Operation, error) {
	who, given, err := c.drawGiven(ctx)
	made := claimNamed{who: who, given: given}
	for range 1 + c.Dice.IntN(3) {
		var has [providers]Amounts
		for range 1 + c.Dice.IntN(2) {
			has[c.Dice.IntN(providers)][c.Dice.IntN(len(classes))] = 1 + c.Dice.Int64N(4)
		}
		made.candidates = append(made.candidates, has)
	}
	return made, err
}

// drawPatch draws a patch of one or two allocations, half of them without a generation.
func (c *Client) drawPatch(ctx context.Context) (Operation, error) {
	who, given, err := c.drawGiven(ctx)
	made := patchAllocations{who: who, given: c.drawCompared(given)}
	for range 1 + c.Dice.IntN(2) {
		p, class := c.Dice.IntN(providers), c.Dice.IntN(len(classes))
		switch c.Dice.IntN(6) {
		case 0:
			made.gone[p] = true
			made.has[p] = Amounts{}
		case 1:
			made.has[p][class] = removed
		default:
			made.has[p][class] = 1 + c.Dice.Int64N(4)
		}
		if made.gone[p] {
			made.has[p] = Amounts{}
		}
	}
	return made, err
}
