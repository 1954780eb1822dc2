package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
)

// parseJSON parses one value without trailing data. Numbers keep their text.
func parseJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more behind the JSON")
	}
	return value, nil
}

const uuidForm = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// placeholders are texts that match any value of a form.
var placeholders = map[string]func(got string) bool{
	"<any>":    func(string) bool { return true },
	"<uuid>":   regexp.MustCompile(`^` + uuidForm + `$`).MatchString,
	"<req-id>": regexp.MustCompile(`^req-` + uuidForm + `$`).MatchString,
	"<date>":   isDate,
	"<moment>": regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`).MatchString,
}

func isDate(got string) bool {
	_, err := time.Parse(http.TimeFormat, got)
	return err == nil
}

// matchText compares a text with the expected text.
func matchText(want, got string) bool {
	if matches, ok := placeholders[want]; ok {
		return matches(got)
	}
	return want == got
}

// compare returns the differences between a JSON value and the expected one. If part is true,
// objects may have more members than expected.
func compare(at string, want, got any, part bool) []string {
	differs := []string{fmt.Sprintf("%s: got %s, want %s", at, compact(got), compact(want))}
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			return compareObjects(at, want, got, part)
		}
		return differs
	case []any:
		if got, ok := got.([]any); ok {
			return compareLists(at, want, got, part)
		}
		return differs
	case string:
		text, isText := got.(string)
		if want == "<any>" || isText && matchText(want, text) {
			return nil
		}
		return differs
	case json.Number:
		number, ok := got.(json.Number)
		if ok && sameNumber(want, number) {
			return nil
		}
		return differs
	default: // bool, nil
		if want == got {
			return nil
		}
		return differs
	}
}

// sameNumber compares values, and whether the number is written as an integer, because clients in
// typed languages distinguish them.
func sameNumber(want, got json.Number) bool {
	if strings.ContainsAny(string(want), ".eE") != strings.ContainsAny(string(got), ".eE") {
		return false
	}
	a, okA := new(big.Float).SetString(string(want))
	b, okB := new(big.Float).SetString(string(got))
	return okA && okB && a.Cmp(b) == 0
}

func compareObjects(at string, want, got map[string]any, part bool) []string {
	var differs []string
	for _, key := range sortedKeys(want) {
		value, ok := got[key]
		if !ok {
			differs = append(differs, fmt.Sprintf("%s.%s: is missing, want %s", at, key, compact(want[key])))
			continue
		}
		differs = append(differs, compare(at+"."+key, want[key], value, part)...)
	}
	for _, key := range sortedKeys(got) {
		if _, ok := want[key]; !ok && !part {
			differs = append(differs, fmt.Sprintf("%s.%s: is not expected, got %s", at, key, compact(got[key])))
		}
	}
	return differs
}

// more is the placeholder for any number of elements of a list.
const more = "<more>"

func compareLists(at string, want, got []any, part bool) []string {
	if slices.Contains(want, any(more)) {
		if matchSequence(want, got, part) {
			return nil
		}
		return []string{fmt.Sprintf("%s: got %s, want %s", at, compact(got), compact(want))}
	}
	if len(want) != len(got) {
		return []string{fmt.Sprintf("%s: got %d elements, want %d: got %s, want %s",
			at, len(got), len(want), compact(got), compact(want))}
	}
	var differs []string
	for i := range want {
		differs = append(differs, compare(fmt.Sprintf("%s[%d]", at, i), want[i], got[i], part)...)
	}
	return differs
}

// matchSequence matches the elements between the placeholders at their first occurrence.
func matchSequence(want, got []any, part bool) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] != any(more) {
		return len(got) > 0 && compare("", want[0], got[0], part) == nil && matchSequence(want[1:], got[1:], part)
	}
	for skipped := range len(got) + 1 {
		if matchSequence(want[1:], got[skipped:], part) {
			return true
		}
	}
	return false
}

func sortedKeys(of map[string]any) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// compact returns a value as text for a message.
func compact(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return abridged(string(text))
}

// abridged shortens a text for a message.
func abridged(text string) string {
	const limit = 1500
	if len(text) > limit {
		return text[:limit] + fmt.Sprintf("... (%d bytes)", len(text))
	}
	return text
}
