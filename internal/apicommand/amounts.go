package apicommand

import "strings"

// cutAmount splits an amount of a resource class: VCPU=4, or VCPU:4 as in queries of the API. The amount is empty
// without a separator.
func cutAmount(text string) (class, amount string) {
	at := strings.IndexAny(text, "=:")
	if at < 0 {
		return text, ""
	}
	return text[:at], text[at+1:]
}

// queryAmounts returns a list of amounts in the notation of the API, VCPU:4,MEMORY_MB:512. Both notations of
// cutAmount are valid in it.
func queryAmounts(list string) string { return strings.ReplaceAll(list, "=", ":") }
