package model

// DryRun is a write with dry_run=true. It never changes a state, and its response must be that of the write.
type DryRun struct{ Operation }

// Change is what a dry run shows of a provider or consumer. A generation is None if it does not exist, and SameGeneration if it is
// not in the response because it does not differ.
type Change struct {
	IsListed      bool
	Before, After int64
}

// SameGeneration is a generation that does not differ.
const SameGeneration = -2

// Changes are all changes of a dry run.
type Changes struct {
	Providers [ProviderCount]Change
	Consumers [ConsumerCount]Change
}

// isShown reports whether a change has the generations of a state before and after.
func (c Change) isShown(differs bool, before, after int64) bool {
	if !differs || !c.IsListed {
		return differs == c.IsListed
	}
	if before == after {
		return c.Before == SameGeneration && c.After == SameGeneration
	}
	return c.Before == before && c.After == after
}

// shown returns what the API shows of a provider, and its generation; None if it does not exist.
func (p Provider) shown() (visible Provider, generation int64) {
	p.Children = 0
	if !p.Exists {
		return p, None
	}
	var used Amounts
	for class := range used {
		used[class] = p.Used(class)
	}
	p.ByConsumer = [ConsumerCount]Amounts{used}
	return p, p.Generation
}

func (c Consumer) shown() int64 {
	if c.Generation == 0 {
		return None
	}
	return c.Generation
}

// Judge implements Operation.
func (w DryRun) Judge(c *Checks) {
	var providers [ProviderCount]Provider
	var consumers [ConsumerCount]Consumer
	touches := c.touches
	for p := range providers {
		c.change(p, func(now *Provider) { providers[p] = *now })
	}
	for who := range consumers {
		c.changeConsumer(who, func(now *Consumer) { consumers[who] = *now })
	}
	c.touches = touches
	w.Operation.Judge(c)
	touches = c.touches
	for p, before := range providers {
		c.change(p, func(now *Provider) {
			if c.Answer.Changes != nil {
				visible, generation := before.shown()
				changed, after := now.shown()
				c.must(c.Answer.Changes.Providers[p].isShown(visible != changed, generation, after))
			}
			*now = before
		})
	}
	for who, before := range consumers {
		c.changeConsumer(who, func(now *Consumer) {
			if c.Answer.Changes != nil {
				c.must(c.Answer.Changes.Consumers[who].isShown(*now != before, before.shown(), now.shown()))
			}
			*now = before
		})
	}
	c.touches = touches
}
