package console

import (
	"bytes"
	"context"
	"errors"
	"net/http"
)

// maxPage is the maximum size of a page in bytes, and maxExport that of an export. The largest page of the tests has
// 1 MiB.
const maxPage, maxExport = 4 << 20, 16 << 20

// errPageTooLarge is the error of a page that reaches maxPage.
var errPageTooLarge = errors.New("the page is larger than 4 MiB")

// pageBuffer is the memory for a page. Its writes fail when the request has ended, and beyond maxPage, so that the template
// stops.
type pageBuffer struct {
	bytes.Buffer
	ctx context.Context
}

// Write implements io.Writer.
func (b *pageBuffer) Write(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.Len()+len(p) > maxPage {
		return 0, errPageTooLarge
	}
	return b.Buffer.Write(p)
}

// render sends the page, or the card that the request asks for.
func (v *visit) render(status int, name string) {
	v.complete()
	card := v.onlyCard()
	if !v.fragment {
		card = nil
	}
	if card != nil {
		if tag := card.Tag(); tag != "" && tag == v.r.Header.Get("HX-PTag") {
			v.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	var body bytes.Buffer
	if err := v.execute(&body, name, card); err != nil {
		v.unrendered(name, err)
		return
	}
	send(v.w, status, "text/html; charset=utf-8", &body)
}

// execute writes the page, or the card if it is not nil, when the pages before it are rendered.
func (v *visit) execute(body *bytes.Buffer, name string, card *Card) error {
	if err := v.c.rendering.Acquire(v.r.Context(), 1); err != nil {
		return err
	}
	defer v.c.rendering.Release(1)
	if card != nil {
		return v.c.pages.renderPart(v.r.Context(), body, name, "card", card)
	}
	return v.c.pages.render(v.r.Context(), body, name, v.frame)
}

// unrendered sends the response of a page that cannot be rendered.
func (v *visit) unrendered(name string, err error) {
	switch {
	case v.r.Context().Err() != nil:
		http.Error(v.w, "The page was not complete in time.", http.StatusServiceUnavailable)
		return
	case errors.Is(err, errPageTooLarge) && name != "error":
		v.fragment = false
		v.failWith(http.StatusInternalServerError, "The page is too large", &Problem{
			Kind: "error", Text: "The page would have more than 4 MiB. Narrow it by its filters, or request the data from the API.",
		})
		return
	}
	v.c.options.Log.Error("cannot render a page of the console", "page", name, "error", err.Error(), "request_id", v.requestID)
	http.Error(v.w, "The page cannot be rendered; the log has the cause under "+v.requestID+".", http.StatusInternalServerError)
}
