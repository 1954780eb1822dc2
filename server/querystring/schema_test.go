package querystring_test

import (
	"testing"

	"github.com/berthd/berth/server/querystring"
)

// usages is the schema of GET /usages at its latest microversion, and providers
// a part of that of GET /resource_providers.
var (
	usages = querystring.MustSchema(
		querystring.Param{Name: "project_id", Required: true, MinLength: 1, MaxLength: 255},
		querystring.Param{Name: "user_id", MinLength: 1, MaxLength: 255},
		querystring.Param{Name: "consumer_type", Pattern: "^[A-Z0-9_]+$|^all|^unknown$", MinLength: 1, MaxLength: 255},
	)
	providers = querystring.MustSchema(
		querystring.Param{Name: "name"},
		querystring.Param{Name: "in_tree", UUID: true},
	)
)

func TestCheckWordsWhatIsWrong(t *testing.T) {
	t.Parallel()

	const providersDoc = `{"additionalProperties":false,"properties":{"in_tree":{"format":"uuid","type":"string"},"name":{"type":"string"}},"type":"object"}`
	const usagesDoc = `{"additionalProperties":false,"properties":{` +
		`"consumer_type":{"maxLength":255,"minLength":1,"pattern":"^[A-Z0-9_]+$|^all|^unknown$","type":"string"},` +
		`"project_id":{"maxLength":255,"minLength":1,"type":"string"},"user_id":{"maxLength":255,"minLength":1,"type":"string"}},` +
		`"required":["project_id"],"type":"object"}`
	for _, test := range []struct {
		name   string
		schema *querystring.Schema
		query  string
		want   string
	}{
		{
			"an unknown parameter", providers, "name=x&limit=1",
			`Additional properties are not allowed ('limit' was unexpected) Failed validating 'additionalProperties' in schema:  ` +
				providersDoc + `  On instance:  {'limit': '1', 'name': 'x'}`,
		},
		{
			"unknown parameters", providers, "b&a&a",
			`Additional properties are not allowed ('a', 'b' were unexpected) Failed validating 'additionalProperties' in schema:  ` +
				providersDoc + `  On instance:  {'a': '', 'b': ''}`,
		},
		{
			"a parameter without name", providers, "=",
			`Additional properties are not allowed ('' was unexpected) Failed validating 'additionalProperties' in schema:  ` +
				providersDoc + `  On instance:  {'': ''}`,
		},
		{
			"a missing parameter", usages, "user_id=x",
			`'project_id' is a required property Failed validating 'required' in schema:  ` + usagesDoc + `  On instance:  {'user_id': 'x'}`,
		},
		{
			"a value that does not match", usages, "project_id=p&consumer_type=x",
			`'x' does not match '^[A-Z0-9_]+$|^all|^unknown$' Failed validating 'pattern' in schema['properties']['consumer_type']:  ` +
				`{"maxLength":255,"minLength":1,"pattern":"^[A-Z0-9_]+$|^all|^unknown$","type":"string"}  On instance['consumer_type']:  'x'`,
		},
		{
			"a value that is too short", usages, "project_id=",
			`'' is too short Failed validating 'minLength' in schema['properties']['project_id']:  {"maxLength":255,"minLength":1,"type":"string"}  On instance['project_id']:  ''`,
		},
		{
			"a value that is no UUID", providers, "in_tree=x",
			`'x' is not a 'uuid' Failed validating 'format' in schema['properties']['in_tree']:  {"format":"uuid","type":"string"}  On instance['in_tree']:  'x'`,
		},
		{
			"a UUID without hyphens", providers, "in_tree=4e8e5957649f477b9e5bf1f75b21c03c",
			`'4e8e5957649f477b9e5bf1f75b21c03c' is not a 'uuid' Failed validating 'format' in schema['properties']['in_tree']:  ` +
				`{"format":"uuid","type":"string"}  On instance['in_tree']:  '4e8e5957649f477b9e5bf1f75b21c03c'`,
		},
		{
			"the last value of a repeated parameter", providers, "in_tree=4e8e5957-649f-477b-9e5b-f1f75b21c03c&in_tree=x",
			`'x' is not a 'uuid' Failed validating 'format' in schema['properties']['in_tree']:  {"format":"uuid","type":"string"}  On instance['in_tree']:  'x'`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := querystring.Check(test.schema, parse(t, test.query))
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		schema *querystring.Schema
		query  string
	}{
		{"an empty query", providers, ""},
		{"an empty value", providers, "name="},
		{"an earlier value that is wrong", providers, "in_tree=x&in_tree=4E8E5957-649f-477b-9e5b-f1f75b21c03c"},
		{"everything at once", usages, "consumer_type=allx&user_id=u&project_id=%20"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := querystring.Check(test.schema, parse(t, test.query)); err != nil {
				t.Errorf("got %v; want no error", err)
			}
		})
	}
}

func TestNewSchemaRefuses(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		params []querystring.Param
	}{
		{"a broken pattern", []querystring.Param{{Name: "a", Pattern: "("}}},
		{"a parameter listed twice", []querystring.Param{{Name: "a"}, {Name: "a", UUID: true}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if schema, err := querystring.NewSchema(test.params...); err == nil {
				t.Errorf("got %v; want an error", schema)
			}
		})
	}
}
