package apicommand

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/frame"
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

// queryAmounts returns the value of a flag with amounts, VCPU=4,MEMORY_MB=512, in the notation of the API. Both notations
// of cutAmount are valid in it. The error names the amount that is none.
func queryAmounts(flag, list string) (string, error) {
	if list == "" {
		return "", nil
	}
	_, err := parseResources(flag, list)
	return strings.ReplaceAll(list, "=", ":"), err
}

// checkAggregates validates the values of a flag with aggregates: A, !A, in:A,B or !in:A,B.
func checkAggregates(flag string, values []string) error {
	for _, value := range values {
		for text := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(value, "!"), "in:"), ",") {
			if _, err := uuid.Parse(strings.TrimPrefix(text, "!")); err != nil {
				return frame.WrongFlag(flag, value, fmt.Sprintf("has %q, which is not the UUID of an aggregate", text), "'berth aggregate list' lists the aggregates")
			}
		}
	}
	return nil
}
