package browser

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Options describe the window and the requests of a page.
type Options struct {
	// Width and Height are those of the window in CSS pixels; the defaults are 1280 and 900.
	Width, Height int
	// Dark selects the dark color scheme.
	Dark bool
	// NoScript turns JavaScript off. Methods of Page work nevertheless.
	NoScript bool
	// Cookies are sent to the address of Open, with every path.
	Cookies map[string]string
	// Header is sent with every request.
	Header map[string]string
	// Window opens the page in a window. Screenshot needs it; all else works without it, with half the CPU time.
	Window bool
	// Timeout is the maximum duration of one action, such as a navigation or a click; the default is a minute.
	Timeout time.Duration
}

// Page is a page in its own browser context, which is closed when the test ends. It must not be used by several
// goroutines at the same time.
type Page struct {
	ctx     context.Context
	options Options
	log     *eventLog
}

// Open opens an address in a new browser context, and waits as Settle does. The page has the focus, and prefers reduced
// motion, so that animations do not change what a test sees.
func (b *Browser) Open(t testing.TB, address string, o Options) *Page {
	t.Helper()
	o.Width, o.Height, o.Timeout = cmp.Or(o.Width, 1280), cmp.Or(o.Height, 900), cmp.Or(o.Timeout, actionTimeout)
	p := &Page{options: o, log: newEventLog()}
	var cancel context.CancelFunc
	p.ctx, cancel = chromedp.NewContext(b.ctx, chromedp.WithTargetID(b.newTarget(t, o.Window)), chromedp.WithListener(p.log.receive))
	t.Cleanup(cancel)
	// The first action attaches to the page until the action's context ends, so it has no deadline.
	timer := time.AfterFunc(startTimeout, cancel)
	err := chromedp.Do(p.ctx)
	timer.Stop()
	if err != nil {
		t.Fatalf("cannot open a page: %v", err)
	}
	p.log.dismissDialogs(p.ctx)
	p.do(t, "set the options of the page", p.setOptions(address))
	p.Goto(t, address)
	return p
}

// newTarget creates an empty page in a new browser context, which is closed when the test ends. A page without a window
// takes half the CPU time, because the toolbar of a window is a page too.
func (b *Browser) newTarget(t testing.TB, hasWindow bool) target.ID {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, startTimeout)
	defer cancel()
	isolated, err := chromedp.CallBrowser(ctx, target.CreateBrowserContext, target.CreateBrowserContextParams{})
	if err != nil {
		t.Fatalf("cannot create a browser context: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(b.ctx, startTimeout)
		defer cancel()
		if _, err := chromedp.CallBrowser(ctx, target.DisposeBrowserContext, target.DisposeBrowserContextParams(isolated)); err != nil {
			t.Errorf("cannot close a browser context: %v", err)
		}
	})
	params, yes := target.CreateTargetParams{URL: "about:blank", BrowserContextID: isolated.BrowserContextID}, true
	if hasWindow {
		params.NewWindow = &yes
	} else {
		params.Hidden = &yes
	}
	page, err := chromedp.CallBrowser(ctx, target.CreateTarget, params)
	if err != nil {
		t.Fatalf("cannot create a page: %v", err)
	}
	return page.TargetID
}

// Goto opens an address in the same page, and waits as Settle does.
func (p *Page) Goto(t testing.TB, address string) {
	t.Helper()
	p.do(t, "open "+address, chromedp.Navigate(address))
	p.Settle(t)
}

// Status returns the HTTP status of the document.
func (p *Page) Status() int { return p.log.documentStatus() }

// setOptions returns an action that applies the options before the first request.
func (p *Page) setOptions(address string) chromedp.Action[chromedp.Void] {
	o := p.options
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		scheme := "light"
		if o.Dark {
			scheme = "dark"
		}
		// A page that has no focus ignores keys and does not match :focus-visible.
		_, focus := cdp.Call(ctx, target, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		_, size := cdp.Call(ctx, target, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: int64(o.Width), Height: int64(o.Height), DeviceScaleFactor: 1,
		})
		_, media := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			},
		})
		_, script := setScript(!o.NoScript)(ctx, target)
		_, issues := cdp.Call(ctx, target, audits.Enable, cdp.Empty{})
		return errors.Join(focus, size, media, script, issues, p.setRequestOptions(ctx, target, address))
	})
}

// setScript returns an action that turns JavaScript of the page on or off. Scripts that were skipped remain so.
func setScript(isOn bool) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !isOn})
		return err
	})
}

func (p *Page) setRequestOptions(ctx context.Context, target *chromedp.Target, address string) error {
	if len(p.options.Header) > 0 {
		header := network.Headers{}
		for name, value := range p.options.Header {
			header[name] = value
		}
		if _, err := cdp.Call(ctx, target, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: header}); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.options.Cookies)) {
		if _, err := cdp.Call(ctx, target, network.SetCookie, network.SetCookieParams{
			Name: name, Value: p.options.Cookies[name], URL: address, Path: "/",
		}); err != nil {
			return err
		}
	}
	return nil
}

// do runs an action, and fails the test if it fails or exceeds the timeout.
func (p *Page) do(t testing.TB, what string, action chromedp.Action[chromedp.Void]) {
	t.Helper()
	run(t, p, what, action)
}

// run runs an action and returns its value. It fails the test if the action fails or exceeds the timeout.
func run[T any](t testing.TB, p *Page, what string, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, p.options.Timeout)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatalf("cannot %s: %v\n%s", what, err, p.log.state())
	}
	return value
}
