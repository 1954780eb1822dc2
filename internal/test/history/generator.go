package history

import (
	"context"
	"net/http"
)

// CreateProviders creates the first providers of a district: two roots with one child each, all
// with inventories.
func (c *Client) CreateProviders(ctx context.Context) error {
	for p, parent := range []int{none, none, 0, 1} {
		for _, operation := range []Operation{
			createProvider{inTree{at(p)}, parent},
			putInventories{onPlace: at(p), offers: c.drawOffers()},
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
	var operations []Operation
	for p := range providers {
		operations = append(operations, getProvider{at(p)}, getInventories{at(p)}, getProviderAllocations{at(p)}, getUsages{at(p)}, getTraits{at(p)}, showTree{inTree{at(p)}})
	}
	for who := range consumers {
		operations = append(operations, getAllocations{who: who})
	}
	for _, operation := range operations {
		if err := c.Do(ctx, operation); err != nil {
			return err
		}
	}
	return nil
}

func at(p int) onPlace { return onPlace{at: p} }

// acts are the requests of a client, with their relative frequency.
var acts = []struct {
	weight int
	draw   func(*Client, context.Context) (Operation, error)
}{
	{30, (*Client).drawClaim},
	{10, (*Client).drawClaims},
	{12, (*Client).drawClaimFound},
	{5, (*Client).drawClaimNamed},
	{8, (*Client).drawPatch},
	{8, (*Client).drawRelease},
	{8, func(c *Client, _ context.Context) (Operation, error) {
		return getAllocations{who: c.Dice.IntN(consumers)}, nil
	}},
	{6, func(c *Client, _ context.Context) (Operation, error) {
		return getProviderAllocations{c.anywhere()}, nil
	}},
	{4, func(c *Client, _ context.Context) (Operation, error) { return getInventories{c.anywhere()}, nil }},
	{4, func(c *Client, _ context.Context) (Operation, error) { return getUsages{c.anywhere()}, nil }},
	{3, func(c *Client, _ context.Context) (Operation, error) { return getProvider{c.anywhere()}, nil }},
	{3, func(c *Client, _ context.Context) (Operation, error) { return getTraits{c.anywhere()}, nil }},
	{6, func(c *Client, _ context.Context) (Operation, error) { return showTree{inTree{c.anywhere()}}, nil }},
	{8, (*Client).drawOfferAll},
	{8, (*Client).drawOfferOne},
	{1, func(c *Client, ctx context.Context) (Operation, error) {
		of := c.anywhere()
		given, err := c.sometimes(ctx, of)
		return deleteInventories{of, given}, err
	}},
	{6, (*Client).drawTraits},
	{10, (*Client).drawTree},
	{10, (*Client).drawReshape},
	{5, func(c *Client, _ context.Context) (Operation, error) {
		return reparentProvider{inTree{c.anywhere()}, c.Dice.IntN(providers+1) - 1}, nil
	}},
	{4, func(c *Client, _ context.Context) (Operation, error) {
		p := 2 + c.Dice.IntN(2)
		return createProvider{inTree{at(p)}, c.Dice.IntN(p+1) - 1}, nil
	}},
	{3, func(c *Client, ctx context.Context) (Operation, error) {
		of := at(2 + c.Dice.IntN(2))
		given, err := c.sometimes(ctx, of)
		return deleteProvider{inTree{of}, given}, err
	}},
}

// Bias is a kind of request that clients send every other time, for races that are rare otherwise.
type Bias int

// The kinds: none, re-parenting, deletion of allocations, claims and what makes them stale, claims and releases,
// replacements of trees, reads of trees with what changes them, changes of what a consumer has, claims of consumers that
// have nothing and what makes them so.
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
)

// RandomStep sends one random request.
func (c *Client) RandomStep(ctx context.Context) error {
	if c.Favors != Anything && c.Dice.IntN(2) == 0 {
		operation, err := c.drawFavorite(ctx)
		if err != nil {
			return err
		}
		return c.doAgain(ctx, operation)
	}
	total := 0
	for _, act := range acts {
		total += act.weight
	}
	throw := c.Dice.IntN(total)
	for _, act := range acts {
		if throw -= act.weight; throw < 0 {
			operation, err := act.draw(c, ctx)
			if err != nil {
				return err
			}
			if operation.request(c.Partition).method != http.MethodGet && c.Dice.IntN(12) == 0 {
				operation = dryRun{operation}
			}
			return c.doAgain(ctx, operation)
		}
	}
	return nil
}

// doAgain sends a request, and a replacement of a tree sometimes twice: the second one changes nothing, unless another
// client has changed the tree since.
func (c *Client) doAgain(ctx context.Context, operation Operation) error {
	if err := c.Do(ctx, operation); err != nil {
		return err
	}
	if _, is := operation.(replaceTree); is && c.Dice.IntN(3) == 0 {
		return c.Do(ctx, operation)
	}
	return nil
}

// drawFavorite draws a request of the kind that the client favors.
func (c *Client) drawFavorite(ctx context.Context) (Operation, error) {
	switch c.Favors {
	case Moves:
		return reparentProvider{inTree{c.anywhere()}, c.Dice.IntN(providers+1) - 1}, nil
	case Claims:
		draws := []func(*Client, context.Context) (Operation, error){
			(*Client).drawClaimFound, (*Client).drawClaimFound, (*Client).drawClaimNamed, (*Client).drawTraits,
		}
		return draws[c.Dice.IntN(len(draws))](c, ctx)
	case Turnover:
		draws := []func(*Client, context.Context) (Operation, error){
			(*Client).drawClaimFound, (*Client).drawClaimNamed, (*Client).drawRelease,
		}
		return draws[c.Dice.IntN(len(draws))](c, ctx)
	case Trees:
		return c.drawTree(ctx)
	case Shows:
		draws := []func(*Client, context.Context) (Operation, error){
			(*Client).drawReshape, (*Client).drawClaim, func(c *Client, _ context.Context) (Operation, error) { return showTree{inTree{c.anywhere()}}, nil },
		}
		return draws[c.Dice.IntN(len(draws))](c, ctx)
	case Changes:
		return c.drawChange(ctx)
	case Arrivals:
		return c.drawArrival(ctx)
	default:
		return c.drawRelease(ctx)
	}
}

func (c *Client) drawRelease(context.Context) (Operation, error) {
	who := c.Dice.IntN(consumers)
	return deleteAllocations{who: who, given: c.drawCompared(c.memory.Consumers[who].Generation)}, nil
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

func (c *Client) anywhere() onPlace { return at(c.Dice.IntN(providers)) }

// known returns the generation of a provider: mostly a fresh one, otherwise the last known one.
func (c *Client) known(ctx context.Context, of onPlace) (int64, error) {
	if c.Dice.IntN(3) > 0 {
		if err := c.Do(ctx, getInventories{of}); err != nil {
			return 0, err
		}
	}
	return c.memory.Places[of.at].Generation, nil
}

// sometimes returns the generation of a provider, or none.
func (c *Client) sometimes(ctx context.Context, of onPlace) (int64, error) {
	if c.Dice.IntN(2) == 0 {
		return none, nil
	}
	return c.known(ctx, of)
}

func (c *Client) drawOffer() Inventory {
	return Inventory{
		Total: 3 + c.Dice.Int32N(6), Reserved: c.Dice.Int32N(2), MinUnit: 1, MaxUnit: 3 + c.Dice.Int32N(8),
		StepSize: 1 + c.Dice.Int32N(5)/4, Ratio: []float64{1, 1, 1.5, 2}[c.Dice.IntN(4)],
	}
}

func (c *Client) drawOffers() (made [len(classes)]Inventory) {
	for class := range made {
		if c.Dice.IntN(8) > 0 {
			made[class] = c.drawOffer()
		}
	}
	return made
}

// drawWant draws the requested allocations of a consumer: on one or two providers, or, if mayGo is
// true, sometimes none.
func (c *Client) drawWant(ctx context.Context, who int, mayGo bool) (want, error) {
	if c.Dice.IntN(3) > 0 {
		if err := c.Do(ctx, getAllocations{who: who}); err != nil {
			return want{}, err
		}
	}
	made := want{consumer: who, given: c.memory.Consumers[who].Generation}
	if mayGo && c.Dice.IntN(5) == 0 {
		return made, nil
	}
	for range 1 + c.Dice.IntN(2) {
		p := c.Dice.IntN(providers)
		made.has[p][c.Dice.IntN(len(classes))] = 1 + c.Dice.Int64N(4)
	}
	return made, nil
}

func (c *Client) drawWants(ctx context.Context, mayGo bool) (made takes, err error) {
	for _, who := range c.Dice.Perm(consumers)[:2] {
		one, err := c.drawWant(ctx, who, mayGo)
		if err != nil {
			return made, err
		}
		made.wants = append(made.wants, one)
	}
	return made, nil
}

func (c *Client) drawClaim(ctx context.Context) (Operation, error) {
	one, err := c.drawWant(ctx, c.Dice.IntN(consumers), true)
	return claim{takes{wants: []want{one}}}, err
}

// drawChange draws a claim of a consumer on two providers. It reads the consumer before, so that the claim mostly changes
// what the consumer has instead of a refusal of its generation.
func (c *Client) drawChange(ctx context.Context) (Operation, error) {
	who := c.Dice.IntN(consumers)
	if err := c.Do(ctx, getAllocations{who: who}); err != nil {
		return nil, err
	}
	made := want{consumer: who, given: c.memory.Consumers[who].Generation}
	for _, p := range c.Dice.Perm(providers)[:2] {
		made.has[p][c.Dice.IntN(len(classes))] = 1
	}
	return claim{takes{wants: []want{made}}}, nil
}

// drawArrival draws a claim of a consumer that has nothing, on one or two providers, or else a deletion of what it has.
func (c *Client) drawArrival(ctx context.Context) (Operation, error) {
	who := c.Dice.IntN(consumers)
	if err := c.Do(ctx, getAllocations{who: who}); err != nil {
		return nil, err
	}
	if c.memory.Consumers[who].ByProvider != ([providers]Amounts{}) {
		return deleteAllocations{who: who}, nil
	}
	made := want{consumer: who, given: c.memory.Consumers[who].Generation}
	for _, p := range c.Dice.Perm(providers)[:1+c.Dice.IntN(2)] {
		made.has[p][c.Dice.IntN(len(classes))] = 1
	}
	return claim{takes{wants: []want{made}}}, nil
}

func (c *Client) drawClaims(ctx context.Context) (Operation, error) {
	wants, err := c.drawWants(ctx, true)
	return claim{wants}, err
}

func (c *Client) drawOfferAll(ctx context.Context) (Operation, error) {
	of := c.anywhere()
	given, err := c.known(ctx, of)
	return putInventories{onPlace: of, given: given, offers: c.drawOffers()}, err
}

func (c *Client) drawOfferOne(ctx context.Context) (Operation, error) {
	made := changeInventory{
		onPlace: c.anywhere(), class: c.Dice.IntN(len(classes)), given: none, offer: c.drawOffer(),
		method: []string{http.MethodPost, http.MethodPut, http.MethodDelete}[c.Dice.IntN(3)],
	}
	var err error
	switch made.method {
	case http.MethodPut:
		made.given, err = c.known(ctx, made.onPlace)
	case http.MethodDelete:
		made.offer = Inventory{}
		made.given, err = c.sometimes(ctx, made.onPlace)
	}
	return made, err
}

func (c *Client) drawTraits(ctx context.Context) (Operation, error) {
	of := c.anywhere()
	given, err := c.known(ctx, of)
	return replaceTraits{onPlace: of, given: given, traits: uint8(c.Dice.IntN(1 << len(traits)))}, err
}

// drawReshape draws new inventories of one or two providers, and sometimes new allocations of two
// consumers. Half of the consumers keep their allocations, which fit more often. It reads consumers
// first, because provider generations become stale sooner.
func (c *Client) drawReshape(ctx context.Context) (Operation, error) {
	made := reshape{}
	var err error
	if c.Dice.IntN(3) > 0 {
		if made.takes, err = c.drawWants(ctx, false); err != nil {
			return nil, err
		}
		for i, one := range made.wants {
			if has := c.memory.Consumers[one.consumer].ByProvider; has != ([providers]Amounts{}) && c.Dice.IntN(2) == 0 {
				made.wants[i].has = has
			}
		}
	}
	for _, p := range c.Dice.Perm(providers)[:1+c.Dice.IntN(2)] {
		given, err := c.known(ctx, at(p))
		if err != nil {
			return nil, err
		}
		made.shapes = append(made.shapes, shape{at: p, given: given, offers: c.drawOffers()})
	}
	return made, nil
}
