// Package querytext has candidate queries as text: what each parameter is, the parameters of an address in their order, what
// a form shows of them, and what the fields of a form, lines of a flavor and command lines mean. It does not check them; the
// service does.
package querytext

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Parameter is a parameter of a query string, whose order and repetitions are kept.
type Parameter struct{ Name, Value string }

// Parse returns the parameters of a query string without those with the names in except, and malformed ones.
func Parse(raw string, except ...string) (all []Parameter) {
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(name)
		value, err := url.QueryUnescape(value)
		if name != "" && nameErr == nil && err == nil && !slices.Contains(except, name) {
			all = append(all, Parameter{name, value})
		}
	}
	return all
}

// String returns the parameter as in a query string, with the separators of lists as they are.
func (p Parameter) String() string {
	separators := strings.NewReplacer("%3A", ":", "%2C", ",", "%21", "!")
	return url.QueryEscape(p.Name) + "=" + separators.Replace(url.QueryEscape(p.Value))
}

// Encode returns a query string in the order of the parameters.
func Encode(all []Parameter) string {
	texts := make([]string, len(all))
	for i, parameter := range all {
		texts[i] = parameter.String()
	}
	return strings.Join(texts, "&")
}

// Lists of parameters in the order of Question.Ordered: those of each group, and those of all groups together.
var (
	GroupLists = named(true)
	Together   = named(false)
)

// IsSingle reports whether a query has one value of a parameter at most; a parameter of a group is given without suffix.
func IsSingle(name string) bool {
	d := defined(name)
	return d != nil && d.IsSingle()
}

var (
	groupPattern  = regexp.MustCompile(`^(` + strings.Join(GroupLists, "|") + `)([a-zA-Z0-9_-]{0,64})$`)
	amountPattern = regexp.MustCompile(`^[^:,]+:[^:,]+(,[^:,]+:[^:,]+)*$`)
)

// Question is a query as a form shows it: the values of each parameter, and the suffixes of the groups, of which the first
// is empty. Text are the parameters that a form cannot show.
type Question struct {
	Values   map[string][]string
	Suffixes []string
	Text     []Parameter
}

// New returns the query of parameters.
func New(all []Parameter) *Question {
	q := &Question{Values: map[string][]string{}, Suffixes: []string{""}}
	for _, parameter := range all {
		name, suffix := parameter.Name, ""
		if group := groupPattern.FindStringSubmatch(parameter.Name); group != nil {
			name, suffix = group[1], group[2]
		} else if !slices.Contains(Together, name) {
			name = ""
		}
		if name == "" || parameter.Value == "" || IsSingle(name) && q.Values[parameter.Name] != nil || name == "resources" && !amountPattern.MatchString(parameter.Value) {
			q.Text = append(q.Text, parameter)
			continue
		}
		if !slices.Contains(q.Suffixes, suffix) {
			q.Suffixes = append(q.Suffixes, suffix)
		}
		q.Values[parameter.Name] = append(q.Values[parameter.Name], parameter.Value)
	}
	return q
}

// Ordered returns the parameters in the order of the form.
func (q *Question) Ordered() (all []Parameter) {
	var names []string
	for _, suffix := range q.Suffixes {
		for _, list := range GroupLists {
			names = append(names, list+suffix)
		}
	}
	for _, name := range append(names, Together...) {
		for _, value := range q.Values[name] {
			all = add(all, Parameter{name, value})
		}
	}
	return append(all, q.Text...)
}

// isList reports whether a parameter is a list of traits, of which a candidate needs all: "A,!B", but not "in:A,B".
func isList(name, value string) bool {
	return strings.HasPrefix(name, "required") && groupPattern.MatchString(name) && !strings.HasPrefix(value, "in:") && !strings.Contains(","+value+",", ",,")
}

// Elements returns the conditions in a value of a parameter: each trait of a list, else the value.
func Elements(name, value string) []string {
	if isList(name, value) {
		return strings.Split(value, ",")
	}
	return []string{value}
}

// add appends a parameter. Traits of which a candidate needs all become one list.
func add(all []Parameter, parameter Parameter) []Parameter {
	at := slices.IndexFunc(all, func(known Parameter) bool { return known.Name == parameter.Name && isList(known.Name, known.Value) })
	if at < 0 || !isList(parameter.Name, parameter.Value) {
		return append(all, parameter)
	}
	all[at].Value += "," + parameter.Value
	return all
}

// Amount is an amount of a resource class, as it is written.
type Amount struct{ Class, Amount string }

// Amounts returns the amounts of a group in their order.
func (q *Question) Amounts(suffix string) (amounts []Amount) {
	for _, list := range q.Values["resources"+suffix] {
		for element := range strings.SplitSeq(list, ",") {
			class, amount, _ := strings.Cut(element, ":")
			amounts = append(amounts, Amount{class, amount})
		}
	}
	return amounts
}

// ByGroup returns the amounts by group and class, without those that are no numbers, and the classes in their order.
func (q *Question) ByGroup() (amounts map[string]map[string]int64, classes []string) {
	amounts = map[string]map[string]int64{}
	for _, suffix := range q.Suffixes {
		amounts[suffix] = map[string]int64{}
		for _, amount := range q.Amounts(suffix) {
			if !slices.Contains(classes, amount.Class) {
				classes = append(classes, amount.Class)
			}
			if n, err := strconv.ParseInt(amount.Amount, 10, 64); err == nil {
				amounts[suffix][amount.Class] += n
			}
		}
	}
	return amounts, classes
}

// FreeSuffix returns the first number that is no suffix of a group.
func (q *Question) FreeSuffix() string {
	n := 1
	for slices.Contains(q.Suffixes, strconv.Itoa(n)) {
		n++
	}
	return strconv.Itoa(n)
}

// FromFields returns the query of the fields of a form. The class and the amount of a resource are two fields, whose names
// end in "-class" and "-amount"; the field "text" is a query string. Empty fields are left out.
func FromFields(fields []Parameter) (all []Parameter) {
	class := ""
	for _, field := range fields {
		value := strings.TrimSpace(field.Value)
		name, isAmount := strings.CutSuffix(field.Name, "-amount")
		at := slices.IndexFunc(all, func(known Parameter) bool { return known.Name == name })
		switch {
		case strings.HasSuffix(field.Name, "-class"):
			class = value
		case isAmount && class != "" && at >= 0:
			all[at].Value += "," + class + ":" + cmp.Or(value, "1")
		case isAmount && class != "":
			all = append(all, Parameter{name, class + ":" + cmp.Or(value, "1")})
		case field.Name == "text":
			all = append(all, Parse(value)...)
		case value != "" && !isAmount:
			all = add(all, Parameter{name, value})
		}
	}
	return all
}

var (
	linePattern   = regexp.MustCompile(`candidates(?:/funnel)?\?([^\s'"]+)`)
	flavorPattern = regexp.MustCompile(`\b(?:(resources|trait)([a-zA-Z0-9_-]*):([A-Z0-9_]+)|(group_policy))['"]?\s*[=:]\s*['"]?(\w+)`)
)

// FromText returns the query string of a text: that of an address or a command line, the extra specs of a flavor, or the
// text itself if it is a query string; else "".
func FromText(text string) string {
	if found := linePattern.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	var fields []Parameter
	for _, found := range flavorPattern.FindAllStringSubmatch(text, -1) {
		switch value := found[5]; {
		case found[4] != "":
			fields = append(fields, Parameter{found[4], value})
		case found[1] == "trait" && value == "forbidden":
			fields = append(fields, Parameter{"required" + found[2], "!" + found[3]})
		case found[1] == "trait":
			fields = append(fields, Parameter{"required" + found[2], found[3]})
		case value != "0":
			fields = append(fields, Parameter{"resources" + found[2] + "-class", found[3]}, Parameter{"resources" + found[2] + "-amount", value})
		}
	}
	if len(fields) > 0 {
		return Encode(New(FromFields(fields)).Ordered())
	}
	if text = strings.TrimPrefix(text, "?"); strings.Contains(text, "=") && !strings.ContainsAny(text, " \t\n'\"") {
		return text
	}
	return ""
}
