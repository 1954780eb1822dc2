package badinput

import (
	"net/url"
	"slices"
	"strings"
)

// consoleAddress is a page of the console with its parameters, or the address of a form with its fields, by spaces.
// Names in braces are variables of the path.
type consoleAddress struct{ path, fields string }

// queryFields are the parameters of a query for candidates on a page.
const queryFields = "resources resources_A required required_A member_of in_tree root_required same_subtree group_policy limit"

// consoleAddresses are all pages. A path with a parameter needs it to reach the others.
var consoleAddresses = []consoleAddress{
	{"/console", "card shape class from"},
	{"/console?card=left", "shape class from"},
	{"/console/find", "q"},
	{"/console/providers", "q view trait aggregate class sort from marker card"},
	{"/console/providers?view=map", "class card"},
	{"/console/providers.json", "q trait aggregate class sort from marker"},
	{"/console/providers.csv", "q trait aggregate class sort from marker"},
	{"/console/providers/{uuid}", "at consumer open class wait"},
	{"/console/providers/{uuid}.svg", "at consumer"},
	{"/console/providers/{uuid}/consumers", "q project user type class provider lease sort marker"},
	{"/console/providers/{uuid}/traits", "class"},
	{"/console/providers/{uuid}/api", "class"},
	{"/console/providers/{uuid}/compare", "with"},
	{"/console/consumers", "q project user type class tree aggregate provider lease sort marker"},
	{"/console/consumers.csv", "q project user type class tree aggregate provider lease sort marker"},
	{"/console/consumers/{consumer_uuid}", "card"},
	{"/console/classes/{resource_class}", "card marker"},
	{"/console/traits/{trait}", "card marker"},
	{"/console/aggregates/{aggregate}", "card marker"},
	{"/console/candidates", "start add form show from " + queryFields},
	{"/console/candidates?resources=VCPU:1", "add form show from " + queryFields},
	{"/console/candidates/funnel", queryFields},
	{"/console/explanations", "kind reason since sort marker"},
	{"/console/explanations/{request_id}", "card"},
	{"/console/history", "provider tree consumer project user request topic since until marker card"},
	{"/console/history?card=events", "provider tree since until marker"},
	{"/console/capacity", "class group_by shape card marker from"},
	{"/console/capacity?card=fits&shape=VCPU:1", "class group_by"},
	{"/console/capacity?card=groups", "class group_by shape marker"},
	{"/console/capacity.csv", "class group_by shape marker"},
	{"/console/capacity.json", "class group_by shape marker"},
	{"/console/capacity/what-if", "shape like count class allocation_ratio reserved card"},
	{"/console/baremetal", "state class conductor maintenance allocated retired"},
	{"/console/baremetal/allocations", "state class"},
	{"/console/baremetal/conductors", "card"},
	{"/console/baremetal/nodes/{node}", "card"},
	{"/console/baremetal/allocations/{allocation}", "card"},
	{"/console/consistency", "card"},
	{"/console/audit", "card"},
	{"/console/start", "card"},
	{"/console/who", "back"},
	{"/console/sign-in", "with back"},
	{"/console/nothing", "q"},
	{"/console/assets/{uuid}/{name}", "v"},
}

// consoleForms are all forms.
var consoleForms = []consoleAddress{
	{"/console/compare", "method body"},
	{"/console/candidates/claim", "candidate back"},
	{"/console/who", "persona user project roles back"},
	{"/console/theme", "theme back"},
	{"/console/start", "force"},
	{"/console/sign-out", "back"},
	{"/console/sign-in", "with token user domain password project application_id secret project_id choice back"},
	{"/console/nothing", "q"},
}

// hostileTexts are values for pages, besides oddTexts, which the requests of the API have, too.
var hostileTexts = []string{
	"<evil>", `"><evil>`, `'><evil>`, `" onevil="1`, `' onevil='1`, " onevil=1 ", "</title></main></script><evil>", "<!--<evil>", "javascript:evil()", "{{.}}${1}",
	"\u202e\u2066evil\u2069", "\u2028\u2029\ufeff", "\x1b[2J\r\nSet-Cookie: a=b", "//evil.example/console", "/console/../../evil", "/console?a=\"><evil>", "-9223372036854775809",
	"1e400", "\x7f" + strings.Repeat("<", 10_000), strings.Repeat("é", 10_000), "req-<evil>", "resources=VCPU:1&required=<evil>", "[{}]", `{"a": "<evil>"}`,
}

// rawValues are values of a parameter that are not escaped, with more parameters in some.
var rawValues = slices.Concat(oddEscapes, []string{"%", "%3cevil%3", "a&card=%00", "a;b=c", "%c0%ae%c0%ae/", "1&limit=-1&from=-1&from=99999999999999999999"})

// spread returns the values for one of many places: a half of the hostile ones and an eighth of the others, and the rest at
// the next places. Each value is in many places then, in a fraction of the requests.
func spread(place int) (values []string) {
	add := func(each int, from []string, escape func(string) string) {
		for i, text := range from {
			if (i+place)%each == 0 {
				values = append(values, escape(text))
			}
		}
	}
	add(2, hostileTexts, url.QueryEscape)
	add(8, oddTexts, url.QueryEscape)
	add(8, rawValues, func(raw string) string { return raw })
	return values
}

// known returns a path with values that exist.
func known(path string) string {
	path = strings.ReplaceAll(path, "{aggregate}", aggregates[0])
	return placeholder.ReplaceAllStringFunc(path, func(name string) string { return named[name][0] })
}

// hostileAddresses returns addresses with one hostile value each, and with a parameter twice.
func hostileAddresses() (all [][2]string) {
	place := 0
	for _, page := range consoleAddresses {
		join := "?"
		if strings.Contains(page.path, "?") {
			join = "&"
		}
		for _, field := range strings.Fields(page.fields) {
			for _, value := range spread(place) {
				all = append(all, [2]string{known(page.path) + join + field + "=" + value})
			}
			all = append(all, [2]string{known(page.path) + join + field + "=VCPU&" + field + "=%3Cevil%3E&" + field})
			place++
		}
		for _, variable := range placeholder.FindAllString(page.path, -1) {
			for _, value := range spread(place) {
				path := strings.Replace(page.path, variable, strings.ReplaceAll(value, "+", "%20"), 1)
				all = append(all, [2]string{known(path)})
			}
			place++
		}
	}
	return all
}

// hostileForms returns forms with one hostile value each, and with secrets, which no page and no log may show.
func hostileForms() (all [][2]string) {
	secrets := []string{"&token=" + tokenUnknown, "&password=" + passwordSecret + "&secret=" + otherSecret}
	for place, form := range consoleForms {
		for i, field := range strings.Fields(form.fields) {
			for _, value := range spread(place + i) {
				for _, secret := range secrets {
					all = append(all, [2]string{form.path, field + "=" + value + secret})
				}
				all = append(all, [2]string{form.path + "?" + field + "=" + value, strings.Join(secrets, "")})
			}
		}
		for _, body := range []string{"", "&", "=", "\x00", "\xff", "%", strings.Repeat("a=b&", 10_000), strings.Repeat("x", 2<<20), `{"json": true}`} {
			all = append(all, [2]string{form.path, body})
		}
	}
	return all
}
