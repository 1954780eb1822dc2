package querystring_test

import (
	"testing"

	"github.com/berthd/berth/server/wire/querystring"
)

// usages is the schema of GET /usages at its latest microversion; providers is a part of that of GET
// /resource_providers.
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
	// candidates is a part of the schema of GET /allocation_candidates.
	candidates = querystring.MustSchema(
		querystring.Param{NamePattern: "^resources([1-9][0-9]*)?$"},
		querystring.Param{NamePattern: "^required([1-9][0-9]*)?$", MaxLength: 3},
		querystring.Param{Name: "limit", Pattern: "^[1-9][0-9]*$", First: true},
		querystring.Param{Name: "group_policy", Enum: []string{"none", "isolate"}},
	)
)

func TestQuery_SchemaViolation_ErrorMatchesContract(t *testing.T) {
	t.Parallel()

	const providersDoc = `{"additionalProperties":false,"properties":{"in_tree":{"format":"uuid","type":"string"},"name":{"type":"string"}},"type":"object"}`
	const usagesDoc = `{"additionalProperties":false,"properties":{` +
		`"consumer_type":{"maxLength":255,"minLength":1,"pattern":"^[A-Z0-9_]+$|^all|^unknown$","type":"string"},` +
		`"project_id":{"maxLength":255,"minLength":1,"type":"string"},"user_id":{"maxLength":255,"minLength":1,"type":"string"}},` +
		`"required":["project_id"],"type":"object"}`
	const candidatesDoc = `{"additionalProperties":false,"patternProperties":{` +
		`"^required([1-9][0-9]*)?$":{"maxLength":3,"type":"string"},"^resources([1-9][0-9]*)?$":{"type":"string"}},` +
		`"properties":{"group_policy":{"enum":["none","isolate"],"type":"string"},"limit":{"pattern":"^[1-9][0-9]*$","type":"string"}},"type":"object"}`
	const limitDoc = ` Failed validating 'pattern' in schema['properties']['limit']:  {"pattern":"^[1-9][0-9]*$","type":"string"}  On instance['limit']:  `
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
			"a value that is not a UUID", providers, "in_tree=x",
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
		{
			"a parameter of no family", candidates, "resources=a&color=b",
			`'color' does not match any of the regexes: '^required([1-9][0-9]*)?$', '^resources([1-9][0-9]*)?$' ` +
				`Failed validating 'additionalProperties' in schema:  ` + candidatesDoc + `  On instance:  {'color': 'b', 'resources': 'a'}`,
		},
		{
			"parameters of no family", candidates, "resources01&resources_A",
			`'resources01', 'resources_A' do not match any of the regexes: '^required([1-9][0-9]*)?$', '^resources([1-9][0-9]*)?$' ` +
				`Failed validating 'additionalProperties' in schema:  ` + candidatesDoc + `  On instance:  {'resources01': '', 'resources_A': ''}`,
		},
		{
			"a name with a line break after it", candidates, "limit%0a=1",
			`'limit\n' does not match any of the regexes: '^required([1-9][0-9]*)?$', '^resources([1-9][0-9]*)?$' ` +
				`Failed validating 'additionalProperties' in schema:  ` + candidatesDoc + `  On instance:  {'limit\n': '1'}`,
		},
		{
			"a value that does not fit the family", candidates, "required12=long",
			`'long' is too long Failed validating 'maxLength' in schema['patternProperties']['^required([1-9][0-9]*)?$']:  ` +
				`{"maxLength":3,"type":"string"}  On instance['required12']:  'long'`,
		},
		{
			"a value that is not one of those allowed", candidates, "group_policy=bogus",
			`'bogus' is not one of ['none', 'isolate'] Failed validating 'enum' in schema['properties']['group_policy']:  ` +
				`{"enum":["none","isolate"],"type":"string"}  On instance['group_policy']:  'bogus'`,
		},
		{"the last value of a parameter whose first value applies", candidates, "limit=1&limit=0", `'0' does not match '^[1-9][0-9]*$'` + limitDoc + `'0'`},
		{"the first value of a parameter whose first value applies", candidates, "limit=x&limit=1", `'x' does not match '^[1-9][0-9]*$'` + limitDoc + `'x'`},
		{"the last value before the first", candidates, "limit=x&limit=0", `'0' does not match '^[1-9][0-9]*$'` + limitDoc + `'0'`},
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

func TestQuery_ValidParameters_Accepted(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		schema *querystring.Schema
		query  string
	}{
		{"an empty query", providers, ""},
		{"an empty value", providers, "name="},
		{"an invalid earlier value", providers, "in_tree=x&in_tree=4E8E5957-649f-477b-9e5b-f1f75b21c03c"},
		{"a family with and without its number", candidates, "resources=a&resources7=b&resources70=c&required=d"},
		{"an invalid value in the middle of a parameter whose first value applies", candidates, "limit=1&limit=x&limit=2"},
		{"an earlier value that is not allowed", candidates, "group_policy=bogus&group_policy=none"},
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

func TestQuery_InvalidSchema_ReturnsError(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		params []querystring.Param
	}{
		{"an invalid pattern", []querystring.Param{{Name: "a", Pattern: "("}}},
		{"an invalid pattern of names", []querystring.Param{{NamePattern: "("}}},
		{"a family listed twice", []querystring.Param{{NamePattern: "^a"}, {NamePattern: "^a", UUID: true}}},
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

func TestQuery_EveryValueValidated_MiddleOneReported(t *testing.T) {
	t.Parallel()
	schema := querystring.MustSchema(
		querystring.Param{Name: "limit", Pattern: "^[1-9][0-9]*$", First: true}, querystring.Param{Name: "per_tree", Pattern: "^[1-9][0-9]*$", Every: true},
	)
	for query, valid := range map[string]bool{
		"per_tree=1&per_tree=2&per_tree=3": true, "per_tree=0&per_tree=2&per_tree=3": false, "per_tree=1&per_tree=x&per_tree=3": false,
		"per_tree=1&per_tree=2&per_tree=": false, "limit=1&limit=x&limit=2": true,
	} {
		values, err := querystring.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		if err := querystring.Check(schema, values); (err == nil) != valid {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := querystring.NewSchema(querystring.Param{Name: "a", Required: true}, querystring.Param{Name: "b", Every: true}); err == nil {
		t.Error("a schema with a required parameter was accepted")
	}
}
