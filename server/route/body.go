package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/jsonbody"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/request"
)

// Body describes how a variant's request body is treated.
type Body[I any] struct {
	// LookFirst is asked when the body is wrong: where the thing in the path
	// does not exist, that is the error to report. nil: the body's error wins.
	LookFirst func(context.Context, *I) error
	// Example of a request, for the documents.
	Example any
	// Optional takes a request without a body for one with an empty object.
	Optional bool
}

// Write is a variant with a JSON body of type B. The body is read, decoded
// strictly and checked against the schema that the OpenAPI document of the
// microversion publishes, then unmarshalled into B. huma has no part in it: its
// validation words and orders errors in its own way.
func Write[I, B, O any](
	since microversion.Version, body Body[I], handle func(context.Context, *I, *B) (*O, error), docs ...Doc,
) Variant {
	return Variant{Since: since, register: func(t *Table, at microversion.Version, api huma.API, op huma.Operation) {
		for _, doc := range docs {
			doc(at, api, &op)
		}
		draftOf(&op).body = &huma.RequestBody{
			Required: !body.Optional,
			Content:  map[string]*huma.MediaType{jsonType: {Schema: schemaOf[B](api), Example: body.Example}},
		}
		wanted := expected{operation: op.OperationID, optional: body.Optional, later: laterMembers(reflect.TypeFor[B]())}
		huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
			decoded := new(B)
			err := t.decode(ctx, wanted, decoded)
			if err != nil && body.LookFirst != nil {
				if missing := body.LookFirst(ctx, in); missing != nil {
					err = missing
				}
			}
			if err != nil {
				return nil, respond(ctx, err)
			}
			out, err := handle(ctx, in, decoded)
			return out, respond(ctx, err)
		})
	}}
}

// expected is what is known of an operation's bodies before there is one.
type expected struct {
	operation string
	optional  bool
	later     []Field
}

func (t *Table) decode(ctx context.Context, wanted expected, into any) error {
	raw, err := t.read(request.From(ctx).HTTP)
	if err != nil {
		return err
	}
	if wanted.optional && len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	value, err := jsonbody.Decode(raw)
	if err != nil {
		return fault.New(fault.Invalid, "Malformed JSON: %s", err)
	}
	if err := checkMembers(wanted.later, value, microversion.From(ctx)); err != nil {
		return err
	}
	validator, err := t.at(microversion.From(ctx)).validator(wanted.operation)
	if err != nil {
		return err
	}
	if err := validator.Validate(value); err != nil {
		return fault.New(fault.Invalid, "JSON does not validate: %s", err)
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

// read takes the whole body, up to the limit.
func (t *Table) read(r *http.Request) ([]byte, error) {
	if r.ContentLength > t.maxBody {
		return nil, tooLarge(t.maxBody)
	}
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, t.maxBody))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(t.maxBody)
	case err != nil:
		return nil, fault.New(fault.Invalid, "The request's body could not be read to its end.")
	}
	return raw, nil
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge,
		"The request's body is larger than the limit of %d bytes, which is the setting max-body-bytes.", limit)
}

// respond turns an operation's error into what huma writes.
func respond(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return apierr.Answer(ctx, err)
}
