package placement

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/querystring"
)

// fieldsEmbedded is a part of an item, whose members are members of the item.
type fieldsEmbedded struct {
	Inner string `json:"inner"`
}

// fieldsItem is an item with every kind of member.
type fieldsItem struct {
	UUID string `json:"uuid"`
	fieldsEmbedded
	Text     string          `json:"text,omitempty"`
	Number   int64           `json:"number,omitempty"`
	Flag     bool            `json:"flag,omitempty"`
	Ratio    float64         `json:"ratio,omitempty"`
	List     []string        `json:"list,omitempty"`
	Map      map[string]int  `json:"map,omitempty"`
	Pointer  *string         `json:"pointer,omitempty"`
	Nullable *string         `json:"nullable"`
	Zero     struct{ A int } `json:"zero,omitzero"`
	Always   []string        `json:"always"`
}

// fieldsParamOf returns a query string with the parameter.
func fieldsParamOf(text string) querystring.Values {
	return querystring.Of(querystring.Pair{Name: fieldsParam, Value: text})
}

// wholeFields is an item whose members all have a value.
var wholeFields = fieldsItem{
	UUID: "u", fieldsEmbedded: fieldsEmbedded{Inner: "<i>"}, Text: "t", Number: 1, Flag: true, Ratio: 1.5, List: []string{"l"},
	Map: map[string]int{"m": 1}, Pointer: new("p"), Nullable: new("n"), Zero: struct{ A int }{1}, Always: []string{"a"},
}

func TestQuery_Fields_SelectMembersInOrderOfItem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, fields string
		item         fieldsItem
		want         string
	}{
		{"one", "number", wholeFields, `{"uuid": "u","number": 1}`},
		{"in another order and twice", "number,text,number", wholeFields, `{"uuid": "u","text": "t","number": 1}`},
		{"the key alone", "uuid", wholeFields, `{"uuid": "u"}`},
		{"of an embedded struct", "inner", wholeFields, `{"uuid": "u","inner": "\u003ci\u003e"}`},
		{"that are empty", "text,number,flag,ratio,list,map,pointer,nullable,zero,always", fieldsItem{UUID: "u"}, `{"uuid": "u","nullable": null,"always": null}`},
		{"that are empty but not nil", "list,map,pointer,always", fieldsItem{List: []string{}, Map: map[string]int{}, Pointer: new(""), Always: []string{}},
			`{"uuid": "","pointer": "","always": []}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			chosen, err := selectFields[fieldsItem](fieldsParamOf(test.fields), consumerList)
			if err != nil {
				t.Fatal(err)
			}
			got, err := of(&chosen, test.item).MarshalJSON()
			if err != nil || string(got) != test.want {
				t.Errorf("item = %s, error %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestQuery_NoFields_SelectAllMembers(t *testing.T) {
	t.Parallel()
	chosen, err := selectFields[fieldsItem](querystring.Of(), consumerList)
	if err != nil || !chosen.has("text") || !chosen.has("unknown") {
		t.Errorf("selection = %+v, error %v, want all members", chosen, err)
	}
	got, err := json.Marshal(of(&chosen, wholeFields))
	want, _ := json.Marshal(wholeFields)
	if err != nil || string(got) != string(want) {
		t.Errorf("item = %s, error %v, want %s", got, err, want)
	}
}

func TestQuery_UnknownFields_NamedWithKnownOnes(t *testing.T) {
	t.Parallel()
	const known = "always, flag, inner, list, map, nullable, number, pointer, ratio, text, uuid, zero"
	for _, test := range []struct {
		fields string
		absent []string
		want   string
	}{
		{"color", nil, "'fields' names color, which consumers do not have. They have " + known + "."},
		{"text,Text", nil, "'fields' names Text, which consumers do not have. They have " + known + "."},
		{"", nil, "'fields' names , which consumers do not have. They have " + known + "."},
		{"text,", nil, "'fields' names , which consumers do not have. They have " + known + "."},
		{"text, number", nil, "'fields' names  number, which consumers do not have. They have " + known + "."},
		{"text,number", []string{"number"}, "'fields' names number, which consumers do not have. They have " + strings.Replace(known, "number, ", "", 1) + "."},
	} {
		_, err := selectFields[fieldsItem](fieldsParamOf(test.fields), consumerList, test.absent...)
		failed := (*fault.Error)(nil)
		if !errors.As(err, &failed) || failed.Kind != fault.Invalid || failed.Code != fault.CodeWriteBadValue || failed.Detail != test.want {
			t.Errorf("fields %q: error = %#v, want %s", test.fields, err, test.want)
		}
	}
}

// FuzzFields selects members of an item. The result is the item of encoding/json without the other members.
func FuzzFields(f *testing.F) {
	for _, text := range []string{"", ",", "uuid", "text,number", "number,text", "inner,map,pointer", "Text", "zero,always,nullable", "fieldsEmbedded", "\x00"} {
		f.Add(text, "t", int64(0), true)
		f.Add(text, "", int64(-1), false)
	}
	f.Fuzz(func(t *testing.T, fields, text string, number int64, present bool) {
		chosen, err := selectFields[fieldsItem](fieldsParamOf(fields), consumerList)
		if err != nil {
			if failed := (*fault.Error)(nil); !errors.As(err, &failed) || failed.Kind != fault.Invalid {
				t.Fatalf("error = %v, want an invalid value", err)
			}
			return
		}
		item := fieldsItem{UUID: text, Text: text, Number: number, Flag: present}
		if present {
			item = wholeFields
		}
		decoded := func(from any) (made map[string]json.RawMessage) {
			encoded, err := json.Marshal(from)
			if err == nil {
				err = json.Unmarshal(encoded, &made)
			}
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		want := decoded(item)
		maps.DeleteFunc(want, func(name string, _ json.RawMessage) bool {
			return name != "uuid" && !slices.Contains(strings.Split(fields, ","), name)
		})
		same := func(a, b json.RawMessage) bool { return string(a) == string(b) }
		if got := decoded(of(&chosen, item)); !maps.EqualFunc(got, want, same) {
			t.Fatalf("fields %q: item = %s, want %s", fields, got, want)
		}
	})
}
