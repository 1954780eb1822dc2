package baremetal

import (
	"context"
	"errors"
	neturl "net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

// maxPage is the maximum and default size of a page. Some clients do not follow the link to the next page.
const maxPage = 1000

// These are the sort orders of a list.
const (
	ascending  = "asc"
	descending = "desc"
	// byCreation is the default order.
	byCreation = "id"
)

// pageArguments are the arguments of all lists.
var pageArguments = route.Params{
	{Name: "limit", Since: v(1), Type: huma.TypeInteger, Doc: "Maximum number of elements. Default and maximum: 1000.", Example: 100},
	{Name: "marker", Since: v(1), Doc: "The last UUID of the previous page.", Example: "c0ffee00-5ca1-4b1e-8000-000000000001"},
	{Name: "sort_key", Since: v(1), Doc: "The member to sort by. Default: order of creation.", Example: "uuid"},
	{Name: "sort_dir", Since: v(1), Doc: "`asc` or `desc`.", Example: ascending},
}

// portPageArguments are pageArguments with a port as the example of the marker.
var portPageArguments = route.Params{
	pageArguments[0],
	{Name: "marker", Since: v(1), Doc: pageArguments[1].Doc, Example: "c0ffee00-5ca1-4b1e-8000-000000000011"},
	pageArguments[2],
	pageArguments[3],
}

// pageOf parses the arguments of a page. sortable are the members that can be sort keys.
func pageOf(given args, sortable ...string) (store.Page, error) {
	page, err := orderOf(given, sortable...)
	if err != nil {
		return page, err
	}
	if sent, ok := given.Last("marker"); ok {
		marker, ok := asUUID(sent)
		if !ok {
			return page, badUUID("marker", sent)
		}
		page.Marker = &marker
	}
	return page, nil
}

// orderOf parses the arguments of a page except for the marker.
func orderOf(given args, sortable ...string) (store.Page, error) {
	page := store.Page{SortKey: byCreation, SortDir: ascending}
	limit, err := given.number("limit", maxPage)
	if err != nil {
		return page, err
	}
	if limit <= 0 {
		return page, fault.New(fault.Invalid, "Limit must be positive")
	}
	page.Limit = min(limit, maxPage)
	if key, ok := given.Last("sort_key"); ok {
		if key != byCreation && !slices.Contains(sortable, key) {
			return page, fault.New(fault.Invalid, "The sort_key value \"%s\" is an invalid field for sorting", key)
		}
		page.SortKey = key
	}
	if direction, ok := given.Last("sort_dir"); ok {
		if direction != ascending && direction != descending {
			return page, fault.New(fault.Invalid, "Invalid sort direction: %s. Acceptable values are 'asc' or 'desc'", direction)
		}
		page.SortDir = direction
	}
	return page, nil
}

// next returns the URL of the page after one with shown elements, of which last is the last one. It returns nil after a
// page that is not full. The URL keeps the filters, because clients use it unchanged.
func next(ctx context.Context, path string, given args, page store.Page, shown int, last string) *string {
	if shown < page.Limit {
		return nil
	}
	var link strings.Builder
	link.WriteString(url(ctx, path))
	add := func(separator, name, value string) {
		link.WriteString(separator + neturl.QueryEscape(name) + "=" + neturl.QueryEscape(value))
	}
	add("?", "sort_key", page.SortKey)
	add("&", "sort_dir", page.SortDir)
	for _, name := range given.Names() {
		switch name {
		case "sort_key", "sort_dir", "limit", "marker":
		default:
			value, _ := given.Last(name)
			add("&", name, value)
		}
	}
	add("&", "limit", strconv.Itoa(page.Limit))
	add("&", "marker", last)
	text := link.String()
	return &text
}

// fieldsArguments select members of a representation.
var fieldsArguments = route.Params{{
	Name: "fields", Since: v(8), Doc: "Members to return, separated by commas. Links are always returned.", Example: "uuid",
}}

// args are the arguments of a request.
type args struct{ querystring.Values }

// arguments parses the query string.
func arguments(ctx context.Context) (args, error) {
	values, err := querystring.Parse(request.From(ctx).RawQuery)
	if err != nil {
		return args{}, fault.New(fault.Invalid, "Invalid query string: %s", err)
	}
	return args{values}, nil
}

// text returns the value of an argument, or nil if the request does not contain it.
func (a args) text(name string) *string {
	if value, sent := a.Last(name); sent {
		return &value
	}
	return nil
}

// flag returns the value of a boolean argument, or nil if the request does not contain it.
func (a args) flag(name string) (*bool, error) {
	value, sent := a.Last(name)
	if !sent {
		return nil, nil
	}
	parsed, ok := truth(value)
	if !ok {
		return nil, fault.New(fault.Invalid, "Invalid value '%s' for %s: it is neither true nor false.", value, name)
	}
	return &parsed, nil
}

// truth parses the notations of true and false that clients use.
func truth(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "t", "1", "yes", "y", "on":
		return true, true
	case "false", "f", "0", "no", "n", "off":
		return false, true
	}
	return false, false
}

// number returns the value of an integer argument. Values out of range saturate at the limits of int.
func (a args) number(name string, otherwise int) (int, error) {
	value, sent := a.Last(name)
	if !sent {
		return otherwise, nil
	}
	parsed, err := strconv.Atoi(value)
	// Atoi reports a value out of range before it has checked the last characters.
	digits := strings.Trim(strings.TrimLeft(value, "+-"), "0123456789") == ""
	if err != nil && (!digits || !errors.Is(err, strconv.ErrRange)) {
		return 0, fault.New(fault.Invalid, "Invalid value '%s' for %s: it is not an integer.", value, name)
	}
	return parsed, nil
}
