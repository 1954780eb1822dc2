// Package model is a sequential model of Berth: what each request does to providers in trees, inventories, traits,
// aggregates, allocations and consumers, and for which reasons the service refuses it. It is written from the documents of the
// API, shares no code with the server, and knows neither SQL nor concurrency.
//
// An operation is data with a method Judge: the rules of the operation in the order in which the service checks them, its
// effect, and what its response must show. Judge compares a response with a state; it does not compute one. What the service
// may choose, such as the candidate of a claim, comes from the response.
//
// The same rules judge a response by the state of a whole district, of one provider, or of one consumer: each rule says what it
// is about, and rules about others do not count. A response that is valid for the whole is valid for each part. The converse is
// false.
//
// Package history searches orders of concurrent requests with it; the random tests of package store compare sequences of writes
// with it. Package store has a second model, of claims and inventories, which shares no rule with this one.
package model

import (
	"fmt"
	"strings"
)

// Operation is a request.
type Operation interface {
	// Judge declares the rules of the operation, its effect, and what a response must show.
	Judge(*Checks)
}

// Describe returns an operation in one line.
func Describe(operation Operation) string {
	if w, isDryRun := operation.(DryRun); isDryRun {
		return "dry run: " + Describe(w.Operation)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T%+v", operation, operation), "model.")
}

// Checks compares a response with a state, or with one provider or consumer of it.
//
// Rules form stages. The service reports a violation of the first stage that has one, and any violation of that stage. A refusal
// is valid if the rule that it reports is broken, and no rule of an earlier stage.
type Checks struct {
	// Answer is the response.
	Answer *Response

	state    *State // nil: only a provider or a consumer
	provider *Provider
	consumer *Consumer
	// number is that of the provider, who that of the consumer.
	number, who int
	// been are the consumers that were ever on the provider; only for a probe, which asks whether the operation touches it.
	been             [ConsumerCount]bool
	isProbe, touches bool
	isDryRun         bool

	// isWrong: the response is invalid. isBroken: a rule of this stage is broken that the response does not report.
	// isConfirmed: the reported rule is broken. isElsewhere: it is about another provider or consumer. isOver: the
	// rules of later stages do not count.
	isWrong, isBroken, isConfirmed, isElsewhere, isOver bool
}

// After returns the state after an operation, and whether its response is valid.
func (s State) After(operation Operation, a *Response) (State, bool) {
	return after(s, func(changed *State) Checks { return Checks{Answer: a, state: changed, number: None, who: None} }, operation)
}

// After does the same for one provider.
func (p Provider) After(number int, operation Operation, a *Response) (Provider, bool) {
	return after(p, func(changed *Provider) Checks { return Checks{Answer: a, provider: changed, number: number, who: None} }, operation)
}

// After does the same for one consumer.
func (c Consumer) After(who int, operation Operation, a *Response) (Consumer, bool) {
	return after(c, func(changed *Consumer) Checks { return Checks{Answer: a, consumer: changed, number: None, who: who} }, operation)
}

func after[S any](now S, of func(*S) Checks, operation Operation) (S, bool) {
	changed := now
	c := of(&changed)
	if isValid := c.isValid(operation); !isValid || c.Answer.Reason != "" {
		return now, isValid
	}
	return changed, true
}

func (c *Checks) isValid(operation Operation) bool {
	_, c.isDryRun = operation.(DryRun)
	switch c.Answer.Reason {
	case RetriesExhausted:
		return true
	case Busy:
		return c.isDryRun
	}
	operation.Judge(c)
	c.next()
	return !c.isWrong && (c.Answer.Reason == "" || c.isConfirmed || c.isElsewhere)
}

// TouchesProvider reports whether an operation is about a provider. been are the consumers that a request ever named on it.
func TouchesProvider(operation Operation, a *Response, p int, been [ConsumerCount]bool) bool {
	c := Checks{Answer: a, number: p, who: None, been: been, isProbe: true}
	operation.Judge(&c)
	return c.touches
}

// TouchesConsumer reports whether an operation is about a consumer.
func TouchesConsumer(operation Operation, a *Response, who int) bool {
	c := Checks{Answer: a, number: None, who: who, isProbe: true}
	operation.Judge(&c)
	return c.touches
}

// ofProvider returns a provider; nil for one that does not count.
func (c *Checks) ofProvider(p int) *Provider {
	switch {
	case p == None:
		return nil
	case c.state != nil:
		return &c.state.Providers[p]
	case p == c.number:
		c.touches = true
		return c.provider
	}
	return nil
}

func (c *Checks) ofConsumer(who int) *Consumer {
	switch {
	case c.state != nil:
		return &c.state.Consumers[who]
	case who == c.who:
		c.touches = true
		return c.consumer
	}
	return nil
}

// reports reports whether the response is a refusal by a rule. Some refusals need not name the provider.
func (c *Checks) reports(reason Reason, p, class int) bool {
	a := c.Answer
	if a.Reason == "" || a.Reason != reason || class != None && a.Class != class {
		return false
	}
	return a.Provider == p || a.Provider == None || !reason.NamesProvider() && reason != ProviderGenerationConflict
}

func (c *Checks) rule(isReported, isVisible, isBroken bool) {
	switch {
	case c.isOver:
	case !isReported:
		c.isBroken = c.isBroken || isBroken
	case isVisible:
		c.isConfirmed = c.isConfirmed || isBroken
	default:
		c.isElsewhere = true
	}
}

// at is a rule about a provider, and about a class unless that is None.
func (c *Checks) at(p int, reason Reason, class int, isBroken func(*Provider) bool) {
	now := c.ofProvider(p)
	c.rule(c.reports(reason, p, class), now != nil, now != nil && isBroken(now))
}

// of is a rule about a consumer.
func (c *Checks) of(who int, reason Reason, isBroken func(*Consumer) bool) {
	now, isReported := c.ofConsumer(who), c.Answer.Reason == reason
	isHere := now != nil && isBroken(now)
	if isReported && reason == ConsumerGenerationConflict {
		isHere = isHere && c.Answer.Expected == now.Generation
	}
	c.rule(isReported, now != nil, isHere)
}

// all is a rule about several providers or consumers.
func (c *Checks) all(reason Reason, isBroken func(*State) bool) {
	c.rule(c.Answer.Reason == reason, c.state != nil, c.state != nil && isBroken(c.state))
}

// next ends a stage.
func (c *Checks) next() {
	if c.isConfirmed || c.isElsewhere {
		c.isOver = true
	} else {
		c.isWrong = c.isWrong || c.isBroken
	}
	c.isBroken = false
}

// change is an effect on a provider. Rules after it are about the provider with the effect.
func (c *Checks) change(p int, effect func(*Provider)) {
	if now := c.ofProvider(p); now != nil {
		effect(now)
	}
}

// changeOf is an effect on a provider that the request names, or on which consumers have, or had, something.
func (c *Checks) changeOf(wants []Want, p int, isNamed bool, effect func(*Provider)) {
	for i := range wants {
		isNamed = isNamed || !c.isProbe || c.been[wants[i].Consumer]
	}
	if isNamed {
		c.change(p, effect)
	}
}

// changeConsumer is an effect on a consumer.
func (c *Checks) changeConsumer(who int, effect func(*Consumer)) {
	if now := c.ofConsumer(who); now != nil {
		effect(now)
	}
}

// must are conditions of the response that do not depend on a state.
func (c *Checks) must(holds bool) { c.isWrong = c.isWrong || !holds }

// mustAt is a condition of the response that depends on a provider.
func (c *Checks) mustAt(p int, holds func(*Provider) bool) {
	c.change(p, func(now *Provider) { c.must(holds(now)) })
}

// mustAll is a condition of the response that depends on several providers or consumers.
func (c *Checks) mustAll(holds func(*State) bool) {
	if c.state != nil {
		c.must(holds(c.state))
	}
}

// isAccepted reports whether the response is a success.
func (c *Checks) isAccepted() bool { return c.Answer.Reason == "" }

// shows reports whether the response is a success that shows something.
func (c *Checks) shows() bool { return c.isAccepted() && c.Answer.Observed.Generation != None }

// known are the rules that requests on a provider share: it must exist, and be at the given generation, unless that is None.
func (c *Checks) known(p int, given int64) {
	c.at(p, ProviderNotFound, None, func(now *Provider) bool { return !now.Exists })
	c.next()
	c.current(p, given)
}

func (c *Checks) current(p int, given int64) {
	c.at(p, ProviderGenerationConflict, None, func(now *Provider) bool { return given != None && now.Generation != given })
	c.next()
}

// mustShow is the condition that the response shows the generation of a provider, and other things of it.
func (c *Checks) mustShow(p int, holds func(*Provider, *Observed) bool) {
	if c.shows() {
		c.mustAt(p, func(now *Provider) bool {
			return now.Generation == c.Answer.Observed.Generation && holds(now, &c.Answer.Observed)
		})
	}
}
