package console

import "time"

// Card is a part of a page that is loaded on its own. Its template is "card:" and its name.
type Card struct {
	Name, Title string
	// Base is the address of the console, Href that of the card alone, Page that of the page.
	Base, Href, Page string
	// Data is what the template shows; Problem is why there is none.
	Data    any
	Problem *Problem
	AsOf    time.Time
}

// Problem is why a card or a page has no data. Its kind is "error", "refused" (policy), "missing" (the service has no such
// call), "slow" (the card asks again by itself), or "invalid" (of the input).
type Problem struct {
	Kind string
	Text string
	// Request and RequestID are the call's; Retry is the address to ask again.
	Request, RequestID, Retry string
	// Rule is the rule that refused, and Command explains why.
	Rule, Command string
	Err           error
}

// Message returns the problem for the parts "error", "refused" and "missing".
func (p *Problem) Message() Message {
	return Message{Text: p.Text, Rule: p.Rule, Command: p.Command, Request: p.Request, RequestID: p.RequestID, Retry: p.Retry}
}
