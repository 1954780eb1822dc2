package placement

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// parseMemberOf parses all values of a member_of parameter. A provider must be in one aggregate of each returned set
// and in none of the forbidden ones. name is the parameter with its suffix; some error texts omit the suffix.
func parseMemberOf(name string, values []string, at microversion.Version) (in [][]uuid.UUID, out []uuid.UUID, err error) {
	if len(values) > 1 && !at.RepeatsMemberOf() {
		return nil, nil, fault.New(fault.Invalid, "Multiple %s parameters are not supported", name)
	}
	for _, value := range values {
		text, forbidden := strings.CutPrefix(value, "!")
		if forbidden && !at.ForbidsMemberOf() {
			return nil, nil, fault.New(fault.Invalid,
				"Forbidden %s parameters are not supported in the specified microversion", name)
		}
		list, isList := strings.CutPrefix(text, "in:")
		if !isList && strings.Contains(text, ",") {
			return nil, nil, fault.New(fault.Invalid, "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' "+
				"keyword using the valid microversion. Got: %s", value)
		}
		var set []uuid.UUID
		for element := range strings.SplitSeq(list, ",") {
			id, ok := uuidlike.Parse(element)
			if !ok {
				return nil, nil, invalidMemberOf.Of(element)
			}
			set = append(set, id)
		}
		if forbidden {
			out = append(out, set...)
		} else {
			in = append(in, set)
		}
	}
	return in, out, nil
}

// parseRequired parses all values of a required parameter. A provider must have one trait of each returned set and none
// of the forbidden ones. Before 1.39 only the last value applies.
func parseRequired(values []string, at microversion.Version) (required [][]string, forbidden []string, err error) {
	if len(values) > 1 && !at.HasAnyOfTraits() {
		values = values[len(values)-1:]
	}
	for _, value := range values {
		if list, ok := strings.CutPrefix(value, "in:"); ok {
			set, err := parseAnyOf(value, list, at)
			if err != nil {
				return nil, nil, err
			}
			required = append(required, set)
			continue
		}
		names, err := splitTraits(value, value, requiredForm(at))
		if err != nil {
			return nil, nil, err
		}
		for _, given := range names {
			name := strings.TrimLeft(given, "!")
			switch {
			case given == name:
				required = append(required, []string{name})
			case !at.ForbidsTraits():
				return nil, nil, fault.New(fault.Invalid, "Invalid query string parameters: Expected 'required' parameter "+
					"value of the form: %s. Got: %s", requiredForm(at), value)
			case name == "":
				return nil, nil, emptyTrait(requiredForm(at), value)
			default:
				forbidden = append(forbidden, name)
			}
		}
	}
	return required, forbidden, nil
}

// splitTraits splits a list of names. An empty name is reported before any other error in the value.
func splitTraits(value, list, form string) ([]string, error) {
	names := strings.Split(list, ",")
	for i, name := range names {
		if names[i] = strings.TrimSpace(name); names[i] == "" {
			return nil, emptyTrait(form, value)
		}
	}
	return names, nil
}

// parseAnyOf parses the list after "in:".
func parseAnyOf(value, list string, at microversion.Version) ([]string, error) {
	const form = "in:HW_CPU_X86_VMX,CUSTOM_MAGIC"
	if !at.HasAnyOfTraits() {
		return nil, fault.New(fault.Invalid, "Invalid query string parameters: "+
			"The format '%s' only supported since microversion 1.39. Got: %s", form, value)
	}
	set, err := splitTraits(value, list, form)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(set, func(name string) bool { return strings.HasPrefix(name, "!") }) {
		return nil, fault.New(fault.Invalid, "Invalid query string parameters: "+
			"The format '%s' does not support forbidden traits. Got: %s", form, value)
	}
	return set, nil
}

func requiredForm(at microversion.Version) string {
	if at.ForbidsTraits() {
		return "HW_CPU_X86_VMX,!CUSTOM_MAGIC"
	}
	return "HW_CPU_X86_VMX,CUSTOM_MAGIC"
}

func emptyTrait(form, value string) error {
	return fault.New(fault.Invalid, "Invalid query string parameters: Expected 'required' parameter "+
		"value of the form: %s. Got an empty trait in: %s", form, value)
}

// parseResources parses a resources parameter, "VCPU:2,MEMORY_MB:1024". The last amount of a repeated class applies.
func parseResources(value string) ([]store.Amount, error) {
	const form = "Badly formed resources parameter. Expected resources query string parameter in form: " +
		"?resources=VCPU:2,MEMORY_MB:1024. Got: %s."
	if strings.TrimSpace(value) == "" {
		return nil, fault.New(fault.Invalid, form, "empty string")
	}
	var amounts []store.Amount
	places := map[string]int{}
	for element := range strings.SplitSeq(value, ",") {
		class, text, ok := strings.Cut(element, ":")
		if !ok || strings.Contains(text, ":") {
			return nil, fault.New(fault.Invalid, form, element)
		}
		amount, ok := parseInt(text)
		if !ok {
			return nil, fault.New(fault.Invalid, "Requested resource %s expected positive integer amount. Got: %s.", class, text)
		}
		if amount < 1 {
			return nil, fault.New(fault.Invalid, "Requested resource %s requires amount >= 1. Got: %d.", class, amount)
		}
		place, named := places[class]
		if !named {
			place = len(amounts)
			places[class] = place
			amounts = append(amounts, store.Amount{Class: class})
		}
		amounts[place].Amount = amount
	}
	return amounts, nil
}

// parseInt parses an integer like Python does, as OpenStack Placement accepts it: with surrounding white space, a plus
// sign, underscores between digits, and decimal digits of any script. Values above 64 bits saturate, because no
// capacity is that large.
func parseInt(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || digits == "" || strings.Contains(digits, "__") ||
		strings.HasPrefix(digits, "_") || strings.HasSuffix(digits, "_") {
		return 0, false
	}
	digits = strings.Map(asciiDigit, strings.ReplaceAll(digits, "_", ""))
	if strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		number = math.MaxInt64
	}
	if strings.HasPrefix(text, "-") {
		number = -number
	}
	return number, true
}

// asciiDigit replaces a decimal digit of another script. Unicode has them in ranges of ten, from zero to nine; adjacent
// ranges are merged.
func asciiDigit(r rune) rune {
	for _, run := range unicode.Nd.R16 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return '0' + (r-rune(run.Lo))%10
		}
	}
	for _, run := range unicode.Nd.R32 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return '0' + (r-rune(run.Lo))%10
		}
	}
	return r
}
