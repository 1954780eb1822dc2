package console

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/querystring"
)

// Bounds of what a browser sends, in bytes: a form, one with a document that its user pastes, a value in an address, and an
// address in a form. A page has its address in many of its links.
const (
	maxForm      = 16 << 10
	maxLargeForm = 1 << 20
	maxValue     = 1 << 10
	maxShape     = 8 << 10
	maxBack      = 4 << 10
)

// maxFields and maxParameters bound the fields of a form, and the parameters of an address.
const maxFields, maxParameters = 32, 256

// pageInput is what a page reads of a request.
type pageInput struct {
	// parameters are those of the address that the page knows. It keeps no other one.
	parameters []string
	// isQuery reports that the address has a query of the API, all of whose parameters the page keeps.
	isQuery bool
	maxForm int64
}

// parse returns the parameters of an address that the page knows, each once.
func (p *pageInput) parse(rawQuery string) (querystring.Values, error) {
	if n := strings.Count(rawQuery, "&") + 1; n > maxParameters {
		return querystring.Values{}, invalid("The address has %d parameters, of which a page reads at most %d.", n, maxParameters)
	}
	sent, err := querystring.Parse(rawQuery)
	if err != nil {
		return querystring.Values{}, invalid("The address cannot be read: %v.", err)
	}
	if p.isQuery {
		return sent, nil
	}
	var known []querystring.Pair
	for _, pair := range sent.Pairs() {
		if !slices.Contains(p.parameters, pair.Name) || slices.ContainsFunc(known, func(item querystring.Pair) bool { return item.Name == pair.Name }) {
			continue
		}
		limit := maxValue
		switch pair.Name {
		case "shape":
			limit = maxShape
		case "back":
			limit = len(pair.Value) // localAddress drops long ones
		}
		if len(pair.Value) > limit {
			return querystring.Values{}, invalid("The parameter %s has %d bytes. The limit is %d.", pair.Name, len(pair.Value), limit)
		}
		known = append(known, pair)
	}
	return querystring.Of(known...), nil
}

// posted returns the fields of a form.
func (v *visit) posted() (url.Values, error) {
	if v.r.ContentLength > v.reads.maxForm {
		return nil, v.tooLarge()
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, v.r.Body, v.reads.maxForm))
	var over *http.MaxBytesError
	switch refused := fault.As(err); {
	case errors.As(err, &over):
		return nil, v.tooLarge()
	case refused != nil && refused.Kind == fault.Unavailable:
		return nil, &inputError{refused.Detail, http.StatusServiceUnavailable}
	case refused != nil:
		return nil, invalid("%s", refused.Detail)
	case err != nil:
		return nil, invalid("The form cannot be read: %v.", err)
	}
	if n := strings.Count(string(body), "&") + 1; n > maxFields {
		return nil, invalid("The form has %d fields, of which a page reads at most %d.", n, maxFields)
	}
	fields, err := querystring.Parse(string(body))
	if err != nil {
		return nil, invalid("The form cannot be read: %v.", err)
	}
	form := url.Values{}
	for _, field := range fields.Pairs() {
		form.Add(field.Name, field.Value)
	}
	return form, nil
}

// tooLarge ends the connection, so that net/http does not read the rest of the form.
func (v *visit) tooLarge() error {
	v.w.Header().Set("Connection", "close")
	return &inputError{"The form is larger than " + number(v.reads.maxForm) + " bytes, the limit of this page.", http.StatusRequestEntityTooLarge}
}
