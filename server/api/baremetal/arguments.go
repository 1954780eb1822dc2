package baremetal

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

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
