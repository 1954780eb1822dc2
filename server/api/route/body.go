package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// Body describes the request body of a variant.
type Body[I any] struct {
	// LookFirst is called when the body is invalid. Its error, for example that the resource in the path does not
	// exist, takes precedence. nil: the error of the body is returned.
	LookFirst func(context.Context, *I) error
	// Example is the request in the documents.
	Example any
	// Optional treats a request without a body like one with an empty object.
	Optional bool
}

// Write returns a variant with a JSON body of type B. The table reads the body, decodes it strictly and validates it
// with the schema in the OpenAPI document of the microversion. Then it unmarshals the body into B. huma does not
// validate bodies, because its error texts and the order of its errors differ.
func Write[I, B, O any](
	since microversion.Version, body Body[I], handle func(context.Context, *I, *B) (*O, error), docs ...Doc,
) Variant {
	return Variant{Since: since, register: func(t *Table, at microversion.Version, api huma.API, op huma.Operation) {
		for _, doc := range docs {
			doc(at, api, &op)
		}
		drafted := draftOf(&op)
		drafted.body = &huma.RequestBody{
			Required: !body.Optional,
			Content:  map[string]*huma.MediaType{drafted.row.bodyType(): {Schema: schemaOf[B](api), Example: body.Example}},
		}
		wanted := expected{operation: op.OperationID, bounds: t.bounds(drafted.row.Body), optional: body.Optional, later: membersSince(reflect.TypeFor[B]())}
		built := api.Adapter().(*versionAPI)
		wanted.validator = func() (*jsonbody.Validator, error) { return built.validator() }
		huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
			decoded, hold := new(B), t.bodies.Hold()
			defer hold.Release()
			if err := t.decode(ctx, wanted, hold, decoded); err != nil {
				if body.LookFirst != nil {
					if missing := body.LookFirst(ctx, in); missing != nil {
						return nil, respond(ctx, missing)
					}
				}
				return nil, apierr.ResponseFor(ctx, err) // of the request alone, so no result of a dry run
			}
			hold.Collect()
			out, err := handle(ctx, in, decoded)
			return out, respond(ctx, keyedRequestOf(ctx).finish(err))
		})
	}}
}

// expected is the information about an operation's bodies that is independent of a request.
type expected struct {
	operation string
	bounds    bodyBounds
	optional  bool
	later     []Field
	validator func() (*jsonbody.Validator, error)
}

// decode reads, validates and decodes a body. If the validator accepts its text, it decodes the text into its type
// only; otherwise also into values, to find the violation.
func (t *Table) decode(ctx context.Context, wanted expected, hold *Hold, into any) error {
	raw, err := wanted.bounds.read(ctx, request.From(ctx).HTTP, hold)
	if err != nil {
		return err
	}
	if wanted.optional && len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	values, err := wanted.bounds.weigh(ctx, raw, hold)
	if err != nil {
		return err
	}
	validator, err := wanted.validator()
	if err != nil {
		return err
	}
	at := microversion.From(ctx)
	checked := slices.ContainsFunc(wanted.later, func(field Field) bool { return field.Since > at })
	if checked || !validator.AcceptsText(raw) {
		if err := wanted.check(ctx, validator, raw, values, hold); err != nil {
			return err
		}
	}
	if err := wanted.setKeyBody(ctx, raw, hold); err != nil {
		return err
	}
	err = json.Unmarshal(raw, into)
	var beyond *json.UnmarshalTypeError
	if errors.As(err, &beyond) && strings.HasPrefix(beyond.Value, "number ") {
		return fault.New(fault.Invalid, "JSON does not validate: %.100s is out of range", beyond.Value)
	}
	if err != nil {
		return fmt.Errorf("body of %s fits its schema but not its type: %w", wanted.operation, err)
	}
	return nil
}

// setKeyBody adds the body to the fingerprint of a request with an idempotency key. It takes the memory of the canonical
// form from the budget.
func (e *expected) setKeyBody(ctx context.Context, raw []byte, hold *Hold) error {
	request := keyedRequestOf(ctx)
	if request == nil {
		return nil
	}
	if len(raw) > freeBytes {
		if err := e.bounds.grow(ctx, hold, canonicalCost*int64(len(raw))); err != nil {
			return err
		}
	}
	return request.setBody(raw)
}

// check returns the violation of a body whose text the validator did not accept, or that may contain members of later
// microversions.
func (e *expected) check(ctx context.Context, validator *jsonbody.Validator, raw []byte, values int64, hold *Hold) error {
	if err := e.bounds.grow(ctx, hold, costOfFailure*min(values, jsonbody.MaxExcerptValues)); err != nil {
		return err
	}
	value, err := validator.DecodeExcerpt(raw)
	if err != nil {
		return malformedJSON.Of(err)
	}
	if err := rejectLaterMembers(e.later, value, microversion.From(ctx)); err != nil {
		return err
	}
	if err := validator.Validate(value); err != nil {
		return InvalidBody.Of(err)
	}
	if values <= jsonbody.MaxExcerptValues || validator.AcceptsText(raw) {
		return nil
	}
	// The excerpt has no violation.
	if value, err = jsonbody.Decode(raw); err != nil {
		return malformedJSON.Of(err)
	}
	if err := validator.Validate(value); err != nil {
		return InvalidBody.Of(err)
	}
	return nil
}

// respond converts an operation's error to the error that huma writes.
func respond(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	response := apierr.ResponseFor(ctx, err)
	recordRefusal(ctx, response)
	return response
}
