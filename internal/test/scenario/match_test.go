package scenario

import (
	"slices"
	"testing"
)

func TestScenario_Match_ReportsDifferences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want, got string
		part      bool
		differs   []string
	}{
		"the same":                   {`{"a": [1, 2.0, "x", null, true]}`, `{"a": [1, 2.0, "x", null, true]}`, false, nil},
		"the order of keys":          {`{"a": 1, "b": 2}`, `{"b": 2, "a": 1}`, false, nil},
		"another value":              {`{"a": 1}`, `{"a": 2}`, false, []string{`$.a: got 2, want 1`}},
		"another type":               {`{"a": 1}`, `{"a": "1"}`, false, []string{`$.a: got "1", want 1`}},
		"no object":                  {`{"a": 1}`, `[1]`, false, []string{`$: got [1], want {"a":1}`}},
		"no list":                    {`[1]`, `{"a": 1}`, false, []string{`$: got {"a":1}, want [1]`}},
		"null is not missing":        {`{"a": null}`, `{}`, false, []string{`$.a: is missing, want null`}},
		"a number with a point":      {`1`, `1.0`, false, []string{`$: got 1.0, want 1`}},
		"a number spelled at length": {`1.50`, `1.5`, false, nil},
		"one key too many":           {`{"a": 1}`, `{"a": 1, "b": 2}`, false, []string{`$.b: is not expected, got 2`}},
		"a part":                     {`{"a": {"b": 1}}`, `{"a": {"b": 1, "c": 2}, "d": 3}`, true, nil},
		"another length":             {`[1]`, `[1, 2]`, true, []string{`$: got 2 elements, want 1: got [1,2], want [1]`}},
		"parts of elements":          {`[{"a": 1}, {"a": 2}]`, `[{"a": 1, "b": 1}, {"a": 2}]`, true, nil},
		"another order":              {`[1, 2]`, `[2, 1]`, false, []string{`$[0]: got 2, want 1`, `$[1]: got 1, want 2`}},
		"a gap at the end":           {`[1, "<more>"]`, `[1, 2, 3]`, false, nil},
		"a gap of nothing":           {`[1, "<more>"]`, `[1]`, false, nil},
		"a gap in the middle":        {`["<more>", 2, "<more>", 4]`, `[1, 2, 3, 4]`, false, nil},
		"a gap is no other order":    {`["<more>", 4, "<more>", 2]`, `[1, 2, 3, 4]`, false, []string{`$: got [1,2,3,4], want ["\u003cmore\u003e",4,"\u003cmore\u003e",2]`}},
		"anything":                   {`{"a": "<any>"}`, `{"a": {"b": []}}`, false, nil},
		"a uuid":                     {`"<uuid>"`, `"c0ffee00-5ca1-4b1e-8000-000000000001"`, false, nil},
		"no uuid":                    {`"<uuid>"`, `"C0FFEE"`, false, []string{`$: got "C0FFEE", want "\u003cuuid\u003e"`}},
		"a request id":               {`"<req-id>"`, `"req-c0ffee00-5ca1-4b1e-8000-000000000001"`, false, nil},
		"a date":                     {`"<date>"`, `"Fri, 20 Nov 2026 18:00:09 GMT"`, false, nil},
		"no date":                    {`"<date>"`, `"2026-11-20"`, false, []string{`$: got "2026-11-20", want "\u003cdate\u003e"`}},
		"a number is no uuid":        {`"<uuid>"`, `5`, false, []string{`$: got 5, want "\u003cuuid\u003e"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, wantErr := parseJSON([]byte(c.want))
			got, gotErr := parseJSON([]byte(c.got))
			if wantErr != nil || gotErr != nil {
				t.Fatal(wantErr, gotErr)
			}
			if differs := compare("$", want, got, c.part); !slices.Equal(differs, c.differs) {
				t.Errorf("got %q, want %q", differs, c.differs)
			}
		})
	}
}

func TestJSON_TrailingData_ReturnsError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{} {}`, `{}}`, ``, `{`} {
		if value, err := parseJSON([]byte(text)); err == nil {
			t.Errorf("%q: got %v", text, value)
		}
	}
}
