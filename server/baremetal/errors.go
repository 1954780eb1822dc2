package baremetal

import (
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/store"
)

// words say what broke a rule of the database, in an operation's own words.
type words map[store.Rule]func(values store.Values) *fault.Error

// say translates a refusal; other errors stay what they are.
func (w words) say(err error) error {
	refused := store.As(err)
	if refused == nil {
		return err
	}
	if word := w[refused.Rule]; word != nil {
		return word(refused.Values)
	}
	return err
}

// saying is a phrase that needs no values.
func saying(kind fault.Kind, format string, args ...any) func(store.Values) *fault.Error {
	return func(store.Values) *fault.Error { return fault.New(kind, format, args...) }
}
