package placement

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/jsonbody"
)

// Patterns of names and keys. Their ends are strict: Go's $ does not match
// before a line break.
const (
	classPattern       = `^[A-Z0-9_]+$`
	customPattern      = `^CUSTOM_[A-Z0-9_]+$`
	uuidKeyPattern     = `^[0-9a-fA-F-]{36}$`
	consumerTypeSchema = `^[A-Z0-9_]+$`
)

// schemaOf is the schema of a type as documents refer to it.
func schemaOf[T any](r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// keyed is an object whose keys are uuids, as requests spell them.
type keyed[V any] struct{ jsonbody.Ordered[V] }

// Schema implements huma.SchemaProvider.
func (keyed[V]) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(schemaOf[V](r), uuidKeyPattern, 0)
}

// keyedNonEmpty is the same with at least one member.
type keyedNonEmpty[V any] struct{ jsonbody.Ordered[V] }

// Schema implements huma.SchemaProvider.
func (keyedNonEmpty[V]) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(schemaOf[V](r), uuidKeyPattern, 1)
}
