package history

import (
	"context"
	"net/http"
)

// Found makes the first providers of a district: two roots with a child each, all
// with some inventory.
func (c *Client) Found(ctx context.Context) error {
	for p, parent := range []int{nobody, nobody, 0, 1} {
		for _, wish := range []Wish{
			found{inTree{at(p)}, parent},
			offerAll{onPlace: at(p), offers: c.drawOffers()},
		} {
			if _, err := c.Do(ctx, wish); err != nil {
				return err
			}
		}
	}
	return nil
}

// LookAtAll asks for everything, as the last client of a history.
func (c *Client) LookAtAll(ctx context.Context) error {
	var wishes []Wish
	for p := range places {
		wishes = append(wishes, lookPlace{at(p)}, lookOffers{at(p)}, lookTaken{at(p)}, lookUsages{at(p)}, lookTraits{at(p)})
	}
	for who := range consumers {
		wishes = append(wishes, lookConsumer{who: who})
	}
	for _, wish := range wishes {
		if _, err := c.Do(ctx, wish); err != nil {
			return err
		}
	}
	return nil
}

func at(p int) onPlace { return onPlace{at: p} }

// acts are what a client may do next, by how often it does.
var acts = []struct {
	weight int
	draw   func(*Client, context.Context) (Wish, error)
}{
	{30, (*Client).drawClaim},
	{10, (*Client).drawClaims},
	{8, func(c *Client, _ context.Context) (Wish, error) { return leave{who: c.Dice.IntN(consumers)}, nil }},
	{8, func(c *Client, _ context.Context) (Wish, error) {
		return lookConsumer{who: c.Dice.IntN(consumers)}, nil
	}},
	{6, func(c *Client, _ context.Context) (Wish, error) { return lookTaken{c.anywhere()}, nil }},
	{4, func(c *Client, _ context.Context) (Wish, error) { return lookOffers{c.anywhere()}, nil }},
	{4, func(c *Client, _ context.Context) (Wish, error) { return lookUsages{c.anywhere()}, nil }},
	{3, func(c *Client, _ context.Context) (Wish, error) { return lookPlace{c.anywhere()}, nil }},
	{3, func(c *Client, _ context.Context) (Wish, error) { return lookTraits{c.anywhere()}, nil }},
	{8, (*Client).drawOfferAll},
	{8, (*Client).drawOfferOne},
	{1, func(c *Client, _ context.Context) (Wish, error) { return withdrawAll{c.anywhere()}, nil }},
	{6, (*Client).drawTraits},
	{10, (*Client).drawReshape},
	{5, func(c *Client, _ context.Context) (Wish, error) {
		return move{inTree{c.anywhere()}, c.Dice.IntN(places+1) - 1}, nil
	}},
	{4, func(c *Client, _ context.Context) (Wish, error) {
		p := 2 + c.Dice.IntN(2)
		return found{inTree{at(p)}, c.Dice.IntN(p+1) - 1}, nil
	}},
	{3, func(c *Client, _ context.Context) (Wish, error) { return remove{inTree{at(2 + c.Dice.IntN(2))}}, nil }},
}

// Favourite is what a client does every other time, for what else would seldom meet.
type Favourite int

// The favourites: none, to move a provider, to release what a consumer has.
const (
	Anything Favourite = iota
	Moves
	Releases
)

// Act does one thing at random.
func (c *Client) Act(ctx context.Context) error {
	if c.Favours != Anything && c.Dice.IntN(2) == 0 {
		var wish Wish = leave{who: c.Dice.IntN(consumers)}
		if c.Favours == Moves {
			wish = move{inTree{c.anywhere()}, c.Dice.IntN(places+1) - 1}
		}
		_, err := c.Do(ctx, wish)
		return err
	}
	total := 0
	for _, act := range acts {
		total += act.weight
	}
	throw := c.Dice.IntN(total)
	for _, act := range acts {
		if throw -= act.weight; throw < 0 {
			wish, err := act.draw(c, ctx)
			if err == nil {
				_, err = c.Do(ctx, wish)
			}
			return err
		}
	}
	return nil
}

func (c *Client) anywhere() onPlace { return at(c.Dice.IntN(places)) }

// known is a provider's generation: mostly a fresh one, else what is remembered.
func (c *Client) known(ctx context.Context, of onPlace) (int64, error) {
	if c.Dice.IntN(3) > 0 {
		if _, err := c.Do(ctx, lookOffers{of}); err != nil {
			return 0, err
		}
	}
	return c.memory.Places[of.at].Generation, nil
}

func (c *Client) drawOffer() Offer {
	return Offer{
		Total: 3 + c.Dice.Int32N(6), Reserved: c.Dice.Int32N(2), Least: 1, Most: 3 + c.Dice.Int32N(8),
		Step: 1 + c.Dice.Int32N(5)/4, Ratio: []float64{1, 1, 1.5, 2}[c.Dice.IntN(4)],
	}
}

func (c *Client) drawOffers() (made [len(classes)]Offer) {
	for class := range made {
		if c.Dice.IntN(8) > 0 {
			made[class] = c.drawOffer()
		}
	}
	return made
}

// drawWant is what a consumer is to have: something of one or two providers, at
// times nothing.
func (c *Client) drawWant(ctx context.Context, who int, mayGo bool) (want, error) {
	if c.Dice.IntN(3) > 0 {
		if _, err := c.Do(ctx, lookConsumer{who: who}); err != nil {
			return want{}, err
		}
	}
	made := want{consumer: who, given: c.memory.Consumers[who].Generation}
	if mayGo && c.Dice.IntN(5) == 0 {
		return made, nil
	}
	for range 1 + c.Dice.IntN(2) {
		p := c.Dice.IntN(places)
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

func (c *Client) drawClaim(ctx context.Context) (Wish, error) {
	one, err := c.drawWant(ctx, c.Dice.IntN(consumers), true)
	return claim{takes{wants: []want{one}}}, err
}

func (c *Client) drawClaims(ctx context.Context) (Wish, error) {
	wants, err := c.drawWants(ctx, true)
	return claim{wants}, err
}

func (c *Client) drawOfferAll(ctx context.Context) (Wish, error) {
	of := c.anywhere()
	given, err := c.known(ctx, of)
	return offerAll{onPlace: of, given: given, offers: c.drawOffers()}, err
}

func (c *Client) drawOfferOne(ctx context.Context) (Wish, error) {
	made := offerOne{
		onPlace: c.anywhere(), class: c.Dice.IntN(len(classes)), given: nobody, offer: c.drawOffer(),
		method: []string{http.MethodPost, http.MethodPut, http.MethodDelete}[c.Dice.IntN(3)],
	}
	var err error
	switch made.method {
	case http.MethodPut:
		made.given, err = c.known(ctx, made.onPlace)
	case http.MethodDelete:
		made.offer = Offer{}
	}
	return made, err
}

func (c *Client) drawTraits(ctx context.Context) (Wish, error) {
	of := c.anywhere()
	given, err := c.known(ctx, of)
	return describeTraits{onPlace: of, given: given, traits: uint8(c.Dice.IntN(1 << len(traits)))}, err
}

// drawReshape gives one or two providers other inventories and two consumers other
// allocations, or none any. Half of the consumers keep what they have, for which there
// is room more often. Consumers come first: generations of providers age sooner.
func (c *Client) drawReshape(ctx context.Context) (Wish, error) {
	made := reshape{}
	var err error
	if c.Dice.IntN(3) > 0 {
		if made.takes, err = c.drawWants(ctx, false); err != nil {
			return nil, err
		}
		for i, one := range made.wants {
			if has := c.memory.Consumers[one.consumer].Has; has != ([places]Amounts{}) && c.Dice.IntN(2) == 0 {
				made.wants[i].has = has
			}
		}
	}
	for _, p := range c.Dice.Perm(places)[:1+c.Dice.IntN(2)] {
		given, err := c.known(ctx, at(p))
		if err != nil {
			return nil, err
		}
		made.shapes = append(made.shapes, shape{at: p, given: given, offers: c.drawOffers()})
	}
	return made, nil
}
