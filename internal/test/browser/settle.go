package browser

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// quietInterval is how long a page must have no request in flight. It covers the time between an input event and the
// request that it causes.
const quietInterval = 150 * time.Millisecond

// settledScript is true if the document and its fonts are loaded, and htmx changes nothing. Reading the height starts
// the load of fonts.
const settledScript = `document.documentElement.offsetHeight >= 0 && document.readyState === "complete" &&
	document.fonts.status === "loaded" &&
	document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling, .htmx-added") === null`

// Settle waits until the document and its fonts are loaded, no request is in flight and htmx has applied the responses.
// It fails the test after a timeout. Requests that a timer sends later do not count.
func (p *Page) Settle(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, p.options.Timeout)
	defer cancel()
	for {
		// The evaluation fails while one document replaces another.
		settled, err := chromedp.Run(ctx, chromedp.Evaluate[bool](settledScript))
		if err == nil && settled && p.log.quietFor() >= quietInterval {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the page is not settled after %s: loaded %t, last error %v\n%s", p.options.Timeout, settled, err, p.log.state())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// WaitFor waits until a JavaScript expression is true, and fails the test after a timeout. It is for changes that a
// timer of the page causes.
func (p *Page) WaitFor(t testing.TB, expression string) {
	t.Helper()
	p.do(t, "wait for "+expression, func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		for {
			if isTrue, err := chromedp.Evaluate[bool]("!!("+expression+")")(ctx, target); err == nil && isTrue {
				return chromedp.Void{}, nil
			}
			select {
			case <-ctx.Done():
				return chromedp.Void{}, ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// quietFor returns the time since the last request began or ended, and 0 while one is in flight.
func (l *eventLog) quietFor() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.inFlight) > 0 {
		return 0
	}
	return time.Since(l.changed)
}

// state describes the page for the message of a failed test.
func (l *eventLog) state() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, event := range l.inFlight {
		lines = append(lines, "request in flight: "+event.Request.URL)
	}
	slices.Sort(lines)
	return strings.Join(append(lines, l.faults...), "\n")
}
