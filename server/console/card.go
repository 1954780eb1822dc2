package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Card is a part of a page that is loaded on its own. Its template is "card:" and its name.
type Card struct {
	Name, Title string
	// Base is the address of the console, Href that of the card alone, Page that of the page.
	Base, Href, Page string
	// Data is what the template shows; Problem is why there is none.
	Data    any
	Problem *Problem
	AsOf    time.Time
	// Every is the number of seconds after which the card loads itself again; 0: never.
	Every int
}

// Slow reports whether the card loads itself after the page.
func (c *Card) Slow() bool { return c.Problem != nil && c.Problem.Kind == "slow" }

// Tag returns a hash of what the card shows, so that a card that loads itself again gets a response only if it changed.
func (c *Card) Tag() string {
	text, err := json.Marshal([]any{c.Data, c.Problem})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Head returns the head of the card, with a note and links.
func (c *Card) Head() CardHead { return CardHead{ID: "head-" + c.Name, Title: c.Title} }

// Problem is why a card or a page has no data. Its kind is "error", "refused" (policy), "missing" (the service has no such
// call), "slow" (the card asks again by itself), or "invalid" (of the input).
type Problem struct {
	Kind string
	Text string
	// Request and RequestID are the call's; Retry is the address to ask again.
	Request, RequestID, Retry string
	// Rule is the rule that refused, and Command explains why.
	Rule, Command string
	Err           error `json:"-"`
}

// Message returns the problem for the part "refused".
func (p *Problem) Message() Message { return Message{Rule: p.Rule, Command: p.Command} }
