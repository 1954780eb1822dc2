package apicommand

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// cutAmount splits an amount of a resource class: VCPU=4, or VCPU:4 as in queries of the API. The amount is empty
// without a separator.
func cutAmount(text string) (class, amount string) {
	at := strings.IndexAny(text, "=:")
	if at < 0 {
		return text, ""
	}
	return text[:at], text[at+1:]
}

// queryAmounts returns the value of a flag with amounts, VCPU=4,MEMORY_MB=4GiB, in the notation of the API. Both notations
// of cutAmount are valid in it. The error names the amount that is none.
func queryAmounts(flag, list string) (string, error) {
	if list == "" {
		return "", nil
	}
	if _, err := parseResources(flag, list); err != nil {
		return list, err
	}
	var texts []string
	for part := range strings.SplitSeq(list, ",") {
		class, text := cutAmount(part)
		amount, _ := parseAmount(upperClass(class), text) // parseResources has accepted it
		texts = append(texts, fmt.Sprintf("%s:%d", upperClass(class), amount))
	}
	return strings.Join(texts, ","), nil
}

// upperClass returns the name of a resource class or trait in upper case, which all names are in.
func upperClass(text string) string { return strings.ToUpper(text) }

// upperClasses returns the names of resource classes in upper case; nil for none.
func upperClasses(texts []string) (names []string) {
	for _, text := range texts {
		names = append(names, upperClass(text))
	}
	return names
}

// upperTraits returns the value of a flag with traits in upper case: TRAIT,!FORBIDDEN or in:TRAIT,TRAIT.
func upperTraits(value string) string {
	without, isForbidden := strings.CutPrefix(value, "!")
	list, isAny := strings.CutPrefix(without, "in:")
	names := upperClass(list)
	if isAny {
		names = "in:" + names
	}
	if isForbidden {
		names = "!" + names
	}
	return names
}

// upperTraitLists returns the values of a repeatable flag with traits in upper case.
func upperTraitLists(values []string) (lists []string) {
	for _, value := range values {
		lists = append(lists, upperTraits(value))
	}
	return lists
}

// unitPowers are the binary units of amounts, and the endings of resource classes that count in them, as powers of 1024.
var unitPowers = map[string]int{"KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4, "PiB": 5, "_KB": 1, "_MB": 2, "_GB": 3, "_TB": 4}

// amountWithUnit matches a whole number with a unit.
var amountWithUnit = regexp.MustCompile(`^([0-9]+)([KMGTP]iB)$`)

// parseAmount parses an amount of a class: a whole number, or, for a class whose name ends with a unit such as MEMORY_MB, a
// number with a binary unit such as 4GiB. The amounts of these classes are counted in binary units too.
func parseAmount(class, text string) (int64, error) {
	parts := amountWithUnit.FindStringSubmatch(text)
	if parts == nil {
		return strconv.ParseInt(text, 10, 64)
	}
	unit, known := unitPowers[class[max(len(class)-len("_MB"), 0):]]
	if !known {
		return 0, fmt.Errorf("%s has no unit", class)
	}
	number, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return 0, err
	}
	for power := unitPowers[parts[2]]; power != unit; {
		switch {
		case power < unit && number%1024 != 0:
			return 0, fmt.Errorf("%s is not a whole number of units of %s", text, class)
		case power < unit:
			number, power = number/1024, power+1
		case number > math.MaxInt64/1024:
			return 0, fmt.Errorf("%s is too large", text)
		default:
			number, power = number*1024, power-1
		}
	}
	return number, nil
}
