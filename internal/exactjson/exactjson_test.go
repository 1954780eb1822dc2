package exactjson_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	josejson "github.com/go-jose/go-jose/v4/json"

	"github.com/berthd/berth/internal/exactjson"
)

// text is a type that decodes itself.
type text struct{ raw string }

func (t *text) UnmarshalJSON(raw []byte) error {
	t.raw = string(raw)
	return nil
}

type base struct {
	Kind string `json:"kind"`
}

type inner struct {
	ID string `json:"id"`
}

type document struct {
	base
	Audience string            `json:"aud"`
	Key      string            `json:"k"`
	Inner    inner             `json:"inner"`
	Pointer  *inner            `json:"pointer"`
	List     []inner           `json:"list"`
	Map      map[string]inner  `json:"map"`
	Texts    map[string]string `json:"texts"`
	Any      any               `json:"any"`
	Text     text              `json:"text"`
	Raw      json.RawMessage   `json:"raw"`
	Raws     []json.RawMessage `json:"raws"`
	At       *time.Time        `json:"at"`
	Plain    int
	Never    string `json:"-"`
}

func TestAuth_ExactJSON_ComparesNamesExactly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		want    document
		failure string // of Unmarshal
		strict  string // of UnmarshalStrict
	}{
		"exact names":               {text: `{"aud":"a","kind":"b","Plain":1}`, want: document{Audience: "a", base: base{"b"}, Plain: 1}},
		"other case later":          {text: `{"aud":"a","AUD":"b"}`, want: document{Audience: "a"}, strict: `unknown field "AUD"`},
		"other case alone":          {text: `{"AUD":"b"}`, strict: `unknown field "AUD"`},
		"other case of no tag":      {text: `{"plain":1}`, strict: `unknown field "plain"`},
		"other case of an embedded": {text: `{"KIND":"b"}`, strict: `unknown field "KIND"`},
		"Kelvin sign for k":         {text: "{\"\u212a\":\"b\"}", strict: "unknown field \"\u212a\""},
		"escaped other case":        {text: `{ "k" : "a" , "\u004b" : "b" }`, want: document{Key: "a"}, strict: `unknown field "K"`},
		"escaped exact name":        {text: `{"\u006b":"a"}`, want: document{Key: "a"}},
		"nested other case":         {text: `{"inner":{"id":"a","ID":"b"},"pointer":{"Id":"b"}}`, want: document{Inner: inner{"a"}, Pointer: &inner{}}, strict: `unknown field "ID"`},
		"other case in a list":      {text: `{"list":[{"id":"a"},{"ID":"b"}]}`, want: document{List: []inner{{"a"}, {}}}, strict: `unknown field "ID"`},
		"other case in a map":       {text: `{"map":{"A":{"ID":"b"},"a":{"id":"c"}}}`, want: document{Map: map[string]inner{"A": {}, "a": {"c"}}}, strict: `unknown field "ID"`},
		"keys of a map differ in case": {text: `{"texts":{"A":"1","a":"2"},"any":{"A":"1","a":"2"}}`,
			want: document{Texts: map[string]string{"A": "1", "a": "2"}, Any: map[string]any{"A": "1", "a": "2"}}},
		"duplicate":                       {text: `{"aud":"a","aud":"a"}`, failure: `the member "aud" appears twice in one object`},
		"escaped duplicate":               {text: `{"aud":"a","\u0061ud":"b"}`, failure: `the member "aud" appears twice in one object`},
		"duplicate in a struct":           {text: `{"pointer":{"id":"a","id":"b"}}`, failure: `the member "id" appears twice in one object`},
		"duplicate in a list":             {text: `{"list":[{"id":"a","id":"b"}]}`, failure: `the member "id" appears twice in one object`},
		"duplicate in a map":              {text: `{"map":{"A":{},"A":{}}}`, failure: `the member "A" appears twice in one object`},
		"duplicate in any value":          {text: `{"any":[{"b":{"c":1,"c":2}}]}`, failure: `the member "c" appears twice in one object`},
		"duplicate in a value of a type":  {text: `{"text":{"c":1,"c":2}}`, failure: `the member "c" appears twice in one object`},
		"duplicate of an unknown member":  {text: `{"aud":"a","x":{"c":1,"c":2},"x":3}`, want: document{Audience: "a"}, strict: `unknown field "x"`},
		"raw text":                        {text: `{"raw":{"c":1,"c":2},"raws":[{"c":1,"c":2}]}`, want: document{Raw: json.RawMessage(`{"c":1,"c":2}`), Raws: []json.RawMessage{json.RawMessage(`{"c":1,"c":2}`)}}},
		"duplicate of raw text":           {text: `{"raw":1,"raw":2}`, failure: `the member "raw" appears twice in one object`},
		"equal names in different levels": {text: `{"inner":{"id":"a"},"pointer":{"id":"b"}}`, want: document{Inner: inner{"a"}, Pointer: &inner{"b"}}},
		"invalid UTF-8":                   {text: "{\"aud\":\"a\xff\"}", failure: "invalid byte at position 9: the text is not UTF-8"},
		"invalid UTF-8, unknown member":   {text: "{\"x\":\"\xff\"}", failure: "invalid byte at position 6: the text is not UTF-8"},
		"a replacement character":         {text: "{\"aud\":\"\ufffd\"}", want: document{Audience: "\ufffd"}},
		"trailing text":                   {text: `{"aud":"a"} {"aud":"b"}`, failure: `invalid character '{' after top-level value`},
		"byte order mark":                 {text: "\ufeff{}", failure: `invalid character 'ï' looking for beginning of value`},
		"empty":                           {text: ``, failure: `unexpected end of JSON input`},
		"other type":                      {text: `[1]`, failure: `json: cannot unmarshal array into Go value of type exactjson_test.document`},
		"other type of a member":          {text: `{"x":1,"aud":{"a":1}}`, failure: `json: cannot unmarshal object into Go struct field document.aud of type string`, strict: `unknown field "x"`},
		"ignored field":                   {text: `{"Never":"a","-":"b"}`, strict: `unknown field "Never"`},
		"null":                            {text: `{"inner":null,"list":null,"map":null,"pointer":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got document
			err := exactjson.Unmarshal([]byte(c.text), &got)
			if errorText(err) != c.failure || err == nil && !reflect.DeepEqual(got, c.want) {
				t.Errorf("Unmarshal = %+v, error %q; want %+v, error %q", got, errorText(err), c.want, c.failure)
			}
			want := c.strict
			if want == "" {
				want = c.failure
			}
			if err := exactjson.UnmarshalStrict([]byte(c.text), new(document)); errorText(err) != want {
				t.Errorf("UnmarshalStrict: error %q, want %q", errorText(err), want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestAuth_ExactJSON_KeepsPositionsOfErrors checks that an ignored name does not move the positions in an error.
func TestAuth_ExactJSON_KeepsPositionsOfErrors(t *testing.T) {
	t.Parallel()
	const document = "{\n\"AUD\": 1,\n\"aud\": 2}"
	var kind *json.UnmarshalTypeError
	err := exactjson.Unmarshal([]byte(document), &struct {
		Audience string `json:"aud"`
	}{})
	if ok := errors.As(err, &kind); !ok || kind.Offset != int64(strings.Index(document, "2}")+1) {
		t.Errorf("error = %+v, want one of the type at offset %d", err, strings.Index(document, "2}")+1)
	}
}

// FuzzUnmarshal compares Unmarshal with the decoder of go-jose, which compares names exactly and rejects duplicates,
// but accepts invalid UTF-8. Unmarshal may accept what that rejects only for duplicates among ignored members.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		`{"aud":"a","AUD":"b"}`, `{"aud":"a","aud":"b"}`, `{"aud":"a","\u0061ud":"b","K":"c"}`, `{"inner":{"ID":"a","id":"b"},"x":{"y":[1,{}]}}`,
		`{"list":[{"id":"a"},{"Id":null}],"map":{"a":{"id":"b"},"A":{}}}`, `{"any":{"b":[1e3,true,null,"\ud800"]},"texts":{"":" "}}`, "{\"aud\":\"\xff\"}",
		`{"" : 1, "a\"ud":2 , "k":"x"}`, `[]`, `null`, `{"pointer":{"id":"a"}} {}`,
	} {
		f.Add([]byte(seed))
	}
	type compared struct {
		Audience string            `json:"aud"`
		Key      string            `json:"k"`
		Inner    inner             `json:"inner"`
		Pointer  *inner            `json:"pointer"`
		List     []inner           `json:"list"`
		Map      map[string]inner  `json:"map"`
		Texts    map[string]string `json:"texts"`
		Any      any               `json:"any"`
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got, want, strict compared
		err := exactjson.Unmarshal(raw, &got)
		other := josejson.Unmarshal(raw, &want)
		switch {
		case err == nil && other == nil && !reflect.DeepEqual(got, want):
			t.Errorf("%q: %+v, want %+v", raw, got, want)
		case err == nil && other != nil && !strings.Contains(other.Error(), "duplicate key"):
			t.Errorf("%q: accepted, but go-jose: %v", raw, other)
		case err != nil && other == nil && !strings.Contains(err.Error(), "is not UTF-8"):
			t.Errorf("%q: %v, but go-jose accepts it", raw, err)
		}
		if exactjson.UnmarshalStrict(raw, &strict) == nil && (err != nil || !reflect.DeepEqual(strict, got)) {
			t.Errorf("%q: strict %+v, otherwise %+v, error %v", raw, strict, got, err)
		}
	})
}
