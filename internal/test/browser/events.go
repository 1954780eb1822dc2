package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// eventLog collects what a page reports: faults, and requests in flight. The reader of the protocol calls receive.
type eventLog struct {
	mu       sync.Mutex
	faults   []string
	inFlight map[network.RequestID]*network.EventRequestWillBeSent
	// documents are the requests of documents. Their status is not a fault, because tests open pages of errors.
	documents map[network.RequestID]bool
	status    int
	changed   time.Time
	dialogs   chan struct{}
}

func newEventLog() *eventLog {
	return &eventLog{
		inFlight: map[network.RequestID]*network.EventRequestWillBeSent{}, documents: map[network.RequestID]bool{}, changed: time.Now(),
		dialogs: make(chan struct{}, 1),
	}
}

// receive handles one event. It must not call the browser.
func (l *eventLog) receive(event any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		l.requestSent(event)
	case *network.EventResponseReceived:
		if event.Type == network.ResourceTypeDocument {
			l.status = int(event.Response.Status)
		}
	case *network.EventLoadingFinished:
		l.requestEnded(event.RequestID)
	case *network.EventLoadingFailed:
		l.requestEnded(event.RequestID)
	case *log.EventEntryAdded:
		l.entryAdded(event.Entry)
	case *audits.EventIssueAdded:
		l.issueAdded(event.Issue.Details.ContentSecurityPolicyIssueDetails)
	case *runtime.EventExceptionThrown:
		l.addFault("exception", exceptionText(event.ExceptionDetails), event.ExceptionDetails.URL)
	case *runtime.EventConsoleAPICalled:
		switch event.Type {
		case "error", "warning", "assert":
			l.addFault("console."+string(event.Type), argumentText(event.Args), "")
		}
	case *page.EventFrameRequestedNavigation, *page.EventFrameStartedNavigating:
		l.changed = time.Now()
	case *page.EventFrameNavigated:
		l.navigated(event.Frame)
	case *page.EventJavascriptDialogOpening:
		l.addFault("dialog", event.Message, event.URL)
		select {
		case l.dialogs <- struct{}{}:
		default: // a page has one dialog at a time, so the goroutine of dismissDialogs handles those before this one
		}
	case *inspector.EventTargetCrashed:
		l.addFault("crash", "the process of the page has crashed", "")
	}
}

func (l *eventLog) requestSent(event *network.EventRequestWillBeSent) {
	l.changed = time.Now()
	address, err := url.Parse(event.Request.URL)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" {
		return
	}
	if ip := net.ParseIP(address.Hostname()); address.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		l.addFault("request to another host", event.Request.URL, "")
	}
	l.inFlight[event.RequestID] = event
	if event.Type == network.ResourceTypeDocument {
		l.documents[event.RequestID] = true
	}
}

func (l *eventLog) requestEnded(id network.RequestID) {
	delete(l.inFlight, id)
	l.changed = time.Now()
}

// navigated forgets the requests of the previous document, which the browser has canceled.
func (l *eventLog) navigated(frame *cdp.Frame) {
	l.changed = time.Now()
	if frame.ParentID == "" {
		maps.DeleteFunc(l.inFlight, func(_ network.RequestID, event *network.EventRequestWillBeSent) bool {
			return event.LoaderID != frame.LoaderID
		})
	}
}

// entryAdded reports failed loads, violations of the Content-Security-Policy and warnings of the browser.
func (l *eventLog) entryAdded(entry *log.Entry) {
	isError := entry.Level == log.EntryLevelError || entry.Level == log.EntryLevelWarning
	if !isError || l.documents[entry.NetworkRequestID] && strings.Contains(entry.Text, "responded with a status of") {
		return
	}
	l.addFault(string(entry.Source), entry.Text, entry.URL)
}

// issueAdded reports blocked calls of eval, which a script can catch and which the browser does not log.
func (l *eventLog) issueAdded(details *audits.ContentSecurityPolicyIssueDetails) {
	if details == nil {
		return
	}
	switch details.ContentSecurityPolicyViolationType {
	case audits.ContentSecurityPolicyViolationTypeKEvalViolation, audits.ContentSecurityPolicyViolationTypeKWasmEvalViolation:
		l.addFault("security", "eval violates "+details.ViolatedDirective, "")
	}
}

func (l *eventLog) addFault(kind, text, address string) {
	fault := kind + ": " + text
	if address != "" {
		fault += " (" + address + ")"
	}
	l.faults = append(l.faults, fault)
}

// dismissDialogs closes each dialog, because the page waits for it, until the context ends.
func (l *eventLog) dismissDialogs(ctx context.Context) {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.dialogs:
				_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: false})
			}
		}
	}()
}

// Events returns all violations of the Content-Security-Policy, exceptions, failed loads, requests to other hosts,
// dialogs, errors and warnings of the console since Open or Forget, in order. The status of the document itself is not among them.
func (p *Page) Events() []string {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	return slices.Clone(p.log.faults)
}

// Forget makes Events and Faults report only what happens from now on.
func (p *Page) Forget() {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	p.log.faults = nil
}

func (l *eventLog) documentStatus() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

func exceptionText(details *runtime.ExceptionDetails) string {
	text := details.Text
	if details.Exception != nil && details.Exception.Description != "" {
		text += " " + details.Exception.Description
	}
	return fmt.Sprintf("%s at %d:%d", text, details.LineNumber+1, details.ColumnNumber+1)
}

// argumentText returns the arguments of a call of the console.
func argumentText(arguments []*runtime.RemoteObject) string {
	var parts []string
	for _, argument := range arguments {
		text := argument.Description
		if text == "" && json.Unmarshal([]byte(argument.Value), &text) != nil {
			text = string(argument.Value) // is no string
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}
