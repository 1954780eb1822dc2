package history

import (
	"context"
	"net/http"

	"github.com/berthd/berth/internal/test/model"
)

// CreateProviders creates the first providers of a district: two roots with one child each, all
// with inventories.
func (c *Client) CreateProviders(ctx context.Context) error {
	for p, parent := range []int{model.None, model.None, 0, 1} {
		for _, operation := range []model.Operation{
			model.CreateProvider{At: p, Parent: parent, Name: int8(p)},
			model.ReplaceInventories{At: p, Inventories: c.drawOffers()},
		} {
			if err := c.Do(ctx, operation); err != nil {
				return err
			}
		}
	}
	return nil
}

// ReadAll sends all reads, as the last client of a history.
func (c *Client) ReadAll(ctx context.Context) error {
	var operations []model.Operation
	for p := range providers {
		for _, part := range []model.Part{
			model.Itself, model.PartInventories, model.PartAllocations, model.PartUsages, model.PartTraits,
		} {
			operations = append(operations, model.Read{At: p, Part: part})
		}
		operations = append(operations, model.ReadTree{At: p})
	}
	for who := range consumers {
		operations = append(operations, model.ReadAllocations{Consumer: who})
	}
	for _, operation := range operations {
		if err := c.Do(ctx, operation); err != nil {
			return err
		}
	}
	return nil
}

// draw is a random request.
type draw = func(*Client, context.Context) (model.Operation, error)

// leaseWeight is the relative frequency of what only concerns leases.
const leaseWeight = 18

// acts are the other requests of a client, with their relative frequency.
var acts = []struct {
	weight int
	draw   draw
}{
	{30, (*Client).drawClaim},
	{10, (*Client).drawClaims},
	{12, (*Client).drawClaimFound},
	{5, (*Client).drawClaimNamed},
	{8, (*Client).drawPatch},
	{8, (*Client).drawRelease},
	{8, func(c *Client, _ context.Context) (model.Operation, error) {
		return model.ReadAllocations{Consumer: c.Dice.IntN(consumers)}, nil
	}},
	{6, drawRead(model.PartAllocations)},
	{4, drawRead(model.PartInventories)},
	{4, drawRead(model.PartUsages)},
	{3, drawRead(model.Itself)},
	{3, drawRead(model.PartTraits)},
	{6, (*Client).drawReadTree},
	{8, (*Client).drawOfferAll},
	{8, (*Client).drawOfferOne},
	{1, func(c *Client, ctx context.Context) (model.Operation, error) {
		of := c.anywhere()
		given, err := c.sometimes(ctx, of)
		return model.ReplaceInventories{At: of, Given: given, IsDelete: true}, err
	}},
	{6, (*Client).drawTraits},
	{10, (*Client).drawTree},
	{10, (*Client).drawReshape},
	{5, (*Client).drawMove},
	{4, func(c *Client, _ context.Context) (model.Operation, error) {
		p := 2 + c.Dice.IntN(2)
		return model.CreateProvider{At: p, Parent: c.Dice.IntN(p+1) - 1, Name: int8(p)}, nil
	}},
	{3, func(c *Client, ctx context.Context) (model.Operation, error) {
		of := 2 + c.Dice.IntN(2)
		given, err := c.sometimes(ctx, of)
		return model.DeleteProvider{At: of, Given: given}, err
	}},
}

// Bias is a kind of request that clients send every other time, for races that are rare otherwise.
type Bias int

// The kinds: none, re-parenting, deletion of allocations, claims and what makes them stale, claims and releases,
// replacements of trees, reads of trees with what changes them, changes of what a consumer has, claims of consumers that
// have nothing and what makes them so, patches of allocations with the claims that they change, leases with the claims that give them.
const (
	Anything Bias = iota
	Moves
	Releases
	Claims
	Turnover
	Trees
	Shows
	Changes
	Arrivals
	Patches
	Expiries
)

// RandomStep sends one random request.
func (c *Client) RandomStep(ctx context.Context) error {
	if c.Favors == Expiries && c.Dice.IntN(2) == 0 {
		return c.doLease(ctx)
	}
	if c.Favors != Anything && c.Dice.IntN(2) == 0 {
		draws := favorites[c.Favors]
		operation, err := draws[c.Dice.IntN(len(draws))](c, ctx)
		if err != nil {
			return err
		}
		return c.doAgain(ctx, operation)
	}
	total := leaseWeight
	for _, act := range acts {
		total += act.weight
	}
	throw := c.Dice.IntN(total)
	if throw -= leaseWeight; throw < 0 {
		return c.doLease(ctx)
	}
	for _, act := range acts {
		if throw -= act.weight; throw < 0 {
			operation, err := act.draw(c, ctx)
			if err != nil {
				return err
			}
			if c.Partition.request(operation).method != http.MethodGet && c.Dice.IntN(12) == 0 {
				operation = model.DryRun{Operation: operation}
			}
			return c.doAgain(ctx, operation)
		}
	}
	return nil
}

// doAgain sends a request, and a replacement of a tree sometimes twice: the second one changes nothing, unless another
// client has changed the tree since.
func (c *Client) doAgain(ctx context.Context, operation model.Operation) error {
	if err := c.Do(ctx, operation); err != nil {
		return err
	}
	if _, is := operation.(model.ReplaceTree); is && c.Dice.IntN(3) == 0 {
		return c.Do(ctx, operation)
	}
	return nil
}

// favorites are the requests of each kind.
var favorites = map[Bias][]draw{
	Moves:    {(*Client).drawMove},
	Releases: {(*Client).drawRelease},
	Claims:   {(*Client).drawClaimFound, (*Client).drawClaimFound, (*Client).drawClaimNamed, (*Client).drawTraits},
	Turnover: {(*Client).drawClaimFound, (*Client).drawClaimNamed, (*Client).drawRelease},
	Trees:    {(*Client).drawTree},
	Shows:    {(*Client).drawReshape, (*Client).drawClaim, (*Client).drawReadTree},
	Changes:  {(*Client).drawChange},
	Arrivals: {(*Client).drawArrival},
	Patches:  {(*Client).drawPatch, (*Client).drawPatch, (*Client).drawPatch, (*Client).drawClaim},
	Expiries: {(*Client).drawPatch, (*Client).drawClaim, (*Client).drawRelease, (*Client).drawLateLease},
}

func (c *Client) drawRelease(context.Context) (model.Operation, error) {
	who := c.Dice.IntN(consumers)
	return model.DeleteAllocations{Consumer: who, Given: c.drawCompared(c.memory.Consumers[who].Generation)}, nil
}

// drawCompared draws the consumer generation of a write that need not have one: none, the known one, or a wrong one. New
// consumers often have the generation of the deleted one, so a known one is seldom stale.
func (c *Client) drawCompared(known int64) int64 {
	switch c.Dice.IntN(4) {
	case 0:
		return known + 1 + c.Dice.Int64N(2)
	case 1:
		return known
	default:
		return 0
	}
}

func (c *Client) anywhere() int { return c.Dice.IntN(providers) }

func drawRead(part model.Part) draw {
	return func(c *Client, _ context.Context) (model.Operation, error) {
		return model.Read{At: c.anywhere(), Part: part}, nil
	}
}

func (c *Client) drawReadTree(context.Context) (model.Operation, error) {
	return model.ReadTree{At: c.anywhere()}, nil
}

// drawMove draws a new parent, or none.
func (c *Client) drawMove(context.Context) (model.Operation, error) {
	p := c.anywhere()
	return model.UpdateProvider{At: p, Parent: c.Dice.IntN(providers+1) - 1, Name: int8(p)}, nil
}

// known returns the generation of a provider: mostly a fresh one, otherwise the last known one.
func (c *Client) known(ctx context.Context, of int) (int64, error) {
	if c.Dice.IntN(3) > 0 {
		if err := c.Do(ctx, model.Read{At: of, Part: model.PartInventories}); err != nil {
			return 0, err
		}
	}
	return c.memory.Providers[of].Generation, nil
}

// sometimes returns the generation of a provider, or none.
func (c *Client) sometimes(ctx context.Context, of int) (int64, error) {
	if c.Dice.IntN(2) == 0 {
		return model.None, nil
	}
	return c.known(ctx, of)
}

func (c *Client) drawOffer() model.Inventory {
	return model.Inventory{
		Total: 3 + c.Dice.Int32N(6), Reserved: c.Dice.Int32N(2), MinUnit: 1, MaxUnit: 3 + c.Dice.Int32N(8),
		StepSize: 1 + c.Dice.Int32N(5)/4, Ratio: []float64{1, 1, 1.5, 2}[c.Dice.IntN(4)],
	}
}

func (c *Client) drawOffers() (made model.Inventories) {
	for class := range classes {
		if c.Dice.IntN(8) > 0 {
			made[class] = c.drawOffer()
		}
	}
	return made
}

// drawWant draws the requested allocations of a consumer: on one or two providers, or, if mayGo is
// true, sometimes none.
func (c *Client) drawWant(ctx context.Context, who int, mayGo bool) (model.Want, error) {
	if c.Dice.IntN(3) > 0 {
		if err := c.Do(ctx, model.ReadAllocations{Consumer: who}); err != nil {
			return model.Want{}, err
		}
	}
	made := model.Want{Consumer: who, Given: c.memory.Consumers[who].Generation, Lease: c.drawLease()}
	if mayGo && c.Dice.IntN(5) == 0 {
		return made, nil
	}
	for range 1 + c.Dice.IntN(2) {
		p := c.Dice.IntN(providers)
		made.Allocations[p][c.Dice.IntN(len(classes))] = 1 + c.Dice.Int64N(4)
	}
	return made, nil
}

func (c *Client) drawWants(ctx context.Context, mayGo bool) (made []model.Want, err error) {
	for _, who := range c.Dice.Perm(consumers)[:2] {
		one, err := c.drawWant(ctx, who, mayGo)
		if err != nil {
			return made, err
		}
		made = append(made, one)
	}
	return made, nil
}

func (c *Client) drawClaim(ctx context.Context) (model.Operation, error) {
	one, err := c.drawWant(ctx, c.Dice.IntN(consumers), true)
	return model.Claim{Wants: []model.Want{one}}, err
}

// drawChange draws a claim of a consumer on two providers. It reads the consumer before, so that the claim mostly changes
// what the consumer has instead of a refusal of its generation.
func (c *Client) drawChange(ctx context.Context) (model.Operation, error) {
	who := c.Dice.IntN(consumers)
	if err := c.Do(ctx, model.ReadAllocations{Consumer: who}); err != nil {
		return nil, err
	}
	made := model.Want{Consumer: who, Given: c.memory.Consumers[who].Generation}
	for _, p := range c.Dice.Perm(providers)[:2] {
		made.Allocations[p][c.Dice.IntN(len(classes))] = 1
	}
	return model.Claim{Wants: []model.Want{made}}, nil
}

// drawArrival draws a claim of a consumer that has nothing, on one or two providers, or else a deletion of what it has.
func (c *Client) drawArrival(ctx context.Context) (model.Operation, error) {
	who := c.Dice.IntN(consumers)
	if err := c.Do(ctx, model.ReadAllocations{Consumer: who}); err != nil {
		return nil, err
	}
	if c.memory.Consumers[who].Allocations != (model.Allocations{}) {
		return model.DeleteAllocations{Consumer: who}, nil
	}
	made := model.Want{Consumer: who, Given: c.memory.Consumers[who].Generation}
	for _, p := range c.Dice.Perm(providers)[:1+c.Dice.IntN(2)] {
		made.Allocations[p][c.Dice.IntN(len(classes))] = 1
	}
	return model.Claim{Wants: []model.Want{made}}, nil
}

func (c *Client) drawClaims(ctx context.Context) (model.Operation, error) {
	wants, err := c.drawWants(ctx, true)
	return model.Claim{Wants: wants}, err
}

func (c *Client) drawOfferAll(ctx context.Context) (model.Operation, error) {
	of := c.anywhere()
	given, err := c.known(ctx, of)
	return model.ReplaceInventories{At: of, Given: given, Inventories: c.drawOffers()}, err
}

func (c *Client) drawOfferOne(ctx context.Context) (model.Operation, error) {
	made := model.ChangeInventory{
		At: c.anywhere(), Class: c.Dice.IntN(len(classes)), Given: model.None, Inventory: c.drawOffer(),
		Method: []string{http.MethodPost, http.MethodPut, http.MethodDelete}[c.Dice.IntN(3)],
	}
	var err error
	switch made.Method {
	case http.MethodPut:
		made.Given, err = c.known(ctx, made.At)
	case http.MethodDelete:
		made.Inventory = model.Inventory{}
		made.Given, err = c.sometimes(ctx, made.At)
	}
	return made, err
}

func (c *Client) drawTraits(ctx context.Context) (model.Operation, error) {
	of := c.anywhere()
	given, err := c.known(ctx, of)
	return model.ReplaceTraits{At: of, Given: given, Traits: uint8(c.Dice.IntN(1 << len(traits)))}, err
}

// drawReshape draws new inventories of one or two providers, and sometimes new allocations of two
// consumers. Half of the consumers keep their allocations, which fit more often. It reads consumers
// first, because provider generations become stale sooner.
func (c *Client) drawReshape(ctx context.Context) (model.Operation, error) {
	made := model.Reshape{}
	var err error
	if c.Dice.IntN(3) > 0 {
		if made.Wants, err = c.drawWants(ctx, false); err != nil {
			return nil, err
		}
		for i, one := range made.Wants {
			if has := c.memory.Consumers[one.Consumer].Allocations; has != (model.Allocations{}) && c.Dice.IntN(2) == 0 {
				made.Wants[i].Allocations = has
			}
		}
	}
	for _, p := range c.Dice.Perm(providers)[:1+c.Dice.IntN(2)] {
		given, err := c.known(ctx, p)
		if err != nil {
			return nil, err
		}
		made.Shapes = append(made.Shapes, model.Shape{At: p, Given: given, Inventories: c.drawOffers()})
	}
	return made, nil
}
