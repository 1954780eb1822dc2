package route

import (
	"maps"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
)

// Failure is one way for an operation to fail: its part of the documents, and if Text is set also the text that the
// server sends.
type Failure struct {
	// Name is the key of the example in the documents: short, in kebab-case, and unique
	// among the failures of an operation at a version.
	Name string
	// When is the sentence in the documents that states the cause.
	When string
	// Fault is the fault with the values of the example.
	Fault *fault.Error
	// Text is the format of the detail, for Of and Fixed; empty if a function makes the
	// faults of this failure.
	Text string
	// Since is the first microversion that has the failure, Before the first that no
	// longer has it; 0: all have it.
	Since, Before microversion.Version
}

// Fails returns a failure whose text is the format, with an example made of values.
func Fails(kind fault.Kind, name, when, format string, values ...any) Failure {
	return Failure{Name: name, When: when, Text: format, Fault: fault.New(kind, format, values...)}
}

// WithCode returns the failure with an error code.
func (f Failure) WithCode(code string) Failure {
	f.Fault = f.Fault.WithCode(code)
	return f
}

// From returns the failure for microversions from since on.
func (f Failure) From(since microversion.Version) Failure {
	f.Since = since
	return f
}

// Until returns the failure for microversions before end.
func (f Failure) Until(end microversion.Version) Failure {
	f.Before = end
	return f
}

// Of returns the fault to send, with values in place of those of the example.
func (f *Failure) Of(values ...any) *fault.Error {
	return fault.New(f.Fault.Kind, f.Text, values...).WithCode(f.Fault.Code)
}

// Fixed returns a function for RuleFaults that ignores what the database reports and
// makes the fault of these values.
func (f *Failure) Fixed(values ...any) func(store.Values) *fault.Error {
	return func(store.Values) *fault.Error { return f.Of(values...) }
}

func (f *Failure) existsAt(at microversion.Version) bool {
	return f.Since <= at && (f.Before == 0 || at < f.Before)
}

// RuleFaults maps each rule of the database that a statement of an operation can break
// to the fault that the operation sends.
type RuleFaults map[store.Rule]func(values store.Values) *fault.Error

// Translate returns the fault for the rule that err reports. It returns err itself if
// err reports none, or one that the operation does not expect.
func (f RuleFaults) Translate(err error) error {
	refused := store.AsRuleViolation(err)
	if refused == nil {
		return err
	}
	if word := f[refused.Rule]; word != nil {
		return word(refused.Values)
	}
	return err
}

// With adds more to f, replaces what both have, and returns f.
func (f RuleFaults) With(more RuleFaults) RuleFaults {
	maps.Copy(f, more)
	return f
}

// Fail replaces the response of an operation by an error, although a part of its body was written. If the writer has
// already sent that part, Fail aborts the connection, so that the client does not treat a partial response as complete.
func Fail(to huma.Context, err error) {
	if answer, ok := to.BodyWriter().(interface{ Fail(error) }); ok {
		answer.Fail(err)
		return
	}
	panic(http.ErrAbortHandler)
}
