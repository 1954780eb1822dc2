package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/server/wire/querystring"
)

// visit is one request to the console: its user, its calls, and the page that it builds.
type visit struct {
	c *Console
	w http.ResponseWriter
	r *http.Request
	// address has the parameters of the address that the page knows, in their order.
	address querystring.Values
	reads   *pageInput
	// base is the address of the console: "/console" or "/placement/console".
	base string
	// session is nil without one.
	session *session
	// only is the card for which the request waits; empty: for none. fragment reports that the response is that card alone.
	only      string
	fragment  bool
	requestID string
	calls     *calls
	cards     []*Card
	loading   sync.WaitGroup
	frame     Frame
	// faults are the sentences about fields of the page that have an invalid value, by the name of the field.
	faults map[string]string
	// extensions is the version of Berth's extensions of the calls; empty: minExtensions.
	extensions string
	// done is set by a response that is not a page.
	done bool
}

type visitKey struct{}

// visitOf returns the visit of a request below Serve.
func visitOf(r *http.Request) *visit { return r.Context().Value(visitKey{}).(*visit) }

// minExtensions is the version of Berth's extensions that the console needs.
const minExtensions = "1.4"

// ctx returns the context of the calls of this visit, with the extensions and the id that ties them together.
func (v *visit) ctx() context.Context {
	ctx := client.WithGlobalRequestID(v.r.Context(), v.requestID)
	return client.WithExtensions(ctx, cmp.Or(v.extensions, minExtensions))
}

// query returns a parameter of the address that the page knows.
func (v *visit) query(name string) string {
	value, _ := v.address.First(name)
	return value
}

// href returns an address below the console, with parameters as pairs of name and value; empty values are omitted.
func (v *visit) href(path string, pairs ...string) string { return href(v.base+path, pairs...) }

func href(path string, pairs ...string) string {
	var values querystring.Values
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values = values.With(pairs[i], pairs[i+1])
		}
	}
	return strings.TrimSuffix(path+"?"+values.Encode(), "?")
}

// with returns the address of this page with changed parameters.
func (v *visit) with(pairs ...string) string {
	values := v.address.Without("card")
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			values = values.Without(pairs[i])
		} else {
			values = values.With(pairs[i], pairs[i+1])
		}
	}
	address := v.base + v.r.URL.EscapedPath()
	if v.r.URL.Path == "/" {
		address = v.base
	}
	return strings.TrimSuffix(address+"?"+values.Encode(), "?")
}

// head sets the title of the page, the current entry of the navigation, what the page shows as of now, and the way to it.
func (v *visit) head(title, nav string, body any, crumbs ...Link) {
	v.frame.Title, v.frame.Nav, v.frame.Body, v.frame.Crumbs, v.frame.AsOf = title, nav, body, crumbs, time.Now()
}

// uuidFact is the line below the title with a UUID to copy.
func uuidFact(id uuid.UUID) []Fact { return []Fact{{Link: Link{Text: id.String()}, Copy: true}} }

// fault marks a field of the page as invalid. The page stays, with status 400.
func (v *visit) fault(name, format string, values ...any) {
	if v.faults == nil {
		v.faults = map[string]string{}
	}
	v.faults[name] = fmt.Sprintf(format, values...)
}

// redirect sends the browser to an address of the console.
func (v *visit) redirect(address string) error {
	v.done = true
	http.Redirect(v.w, v.r, address, http.StatusSeeOther)
	return nil
}

// card loads the data of a card at the same time as others; wait waits for all. A card that is not there after CardWait
// asks for itself later. A request of a script for one card loads that alone. Without a script it is for the page, which
// waits for all cards then, since some share a call.
func (v *visit) card(name, title string, ask func(ctx context.Context) (*content, error)) *Card {
	card := &Card{Name: name, Title: title, Base: v.base, Href: v.with("card", name), Page: v.with()}
	v.cards = append(v.cards, card)
	if v.fragment && v.only != name {
		return card
	}
	ctx, cancel := v.ctx(), func() {}
	if v.only == "" {
		ctx, cancel = context.WithTimeout(ctx, v.c.options.CardWait)
	}
	v.loading.Go(func() {
		defer cancel()
		data, err := recovered(ctx, ask)
		card.AsOf = time.Now()
		if card.Data = data; err != nil {
			card.Problem = v.problem(err)
			card.Problem.Retry = card.Href
			if v.only != name && errors.Is(err, context.DeadlineExceeded) {
				card.Problem.Kind = "slow"
			}
		}
	})
	return card
}

// recovered returns a panic of a card as an error, since it is in a goroutine of its own.
func recovered[T any](ctx context.Context, ask func(context.Context) (T, error)) (data T, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return ask(ctx)
}

// wait waits for the cards, and returns an error that concerns the whole page: the session has ended, or the page has no
// such card.
func (v *visit) wait() error {
	v.loading.Wait()
	if v.fragment && v.onlyCard() == nil {
		return invalid("The page has no card %q.", v.only)
	}
	for _, card := range v.cards {
		if card.Problem != nil && errors.Is(card.Problem.Err, client.ErrUnauthorized) {
			return card.Problem.Err
		}
	}
	return nil
}

func (v *visit) onlyCard() *Card {
	for _, card := range v.cards {
		if v.only == card.Name {
			return card
		}
	}
	return nil
}

// complete fills the parts of the frame that are the same on all pages.
func (v *visit) complete() {
	v.frame.Base, v.frame.Assets, v.frame.Theme = v.base, v.base+"/assets/"+assetHash(), v.theme()
	v.frame.Who, v.frame.NoHistory, v.frame.Path = v.who(), !v.mayReadHistory(), v.with()
	v.frame.Back = v.localAddress(v.frame.Path)
	if v.c.options.Settings.Unprotected {
		v.frame.Warning = "This service does not authenticate its callers, and other hosts can reach it: each caller has the roles that it names."
	}
}

// Card is a part of a page that is loaded on its own. Kind is its class.
type Card struct {
	Name, Title, Kind string
	// Base is the address of the console, Href that of the card alone, Page that of the page.
	Base, Href, Page string
	// Data is what the card shows; Problem is why there is none.
	Data    *content
	Problem *Problem
	AsOf    time.Time
	// Every is the number of seconds after which the card loads itself again; 0: never.
	Every int
}

// content is what a card shows: the first of these that has something, or else the message or the sentence Empty. A notice is above it.
type content struct {
	Notice      *Notice
	Sums, Table Table
	Hist        Hist // with a text before and a note after it
	Text, Note  string
	Bar         template.HTML
	Shares      []Link // below the bar; Kind is the color
	Reasons     []Reason
	Map         *mapView
	Fit         *fitView
	Explained   *explained
	Trees       []consumerTree
	Message     Message
	Empty       string
	Foot        []Link
	Pager       Pager
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

// Problem is why a card or a page has no data. Its kind is "error", "refused" (policy), "missing" (the service has no such
// call), "slow" (the card asks again by itself), or "invalid" (of the input).
type Problem struct {
	Kind string
	Text string
	// Request and RequestID are the call's; Retry is the address to ask again.
	Request, RequestID, Retry string
	// Rule is the rule that refused, and Command explains why.
	Rule, Command string
	// Past leads to the history of an object that does not exist.
	Past []Link
	Err  error `json:"-"`
}
