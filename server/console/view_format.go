package console

import (
	"html/template"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// funcs has the functions of the templates.
var funcs = template.FuncMap{
	"amount":  amount,
	"clock":   clock,
	"key":     key,
	"percent": percent,
	"mapKey":  mapKey,
	"number":  number,
	"share":   share,
	"short":   short,
	"stamp":   stamp,
	"swatch":  swatch,
	"words":   words,
}

var hyphenated = regexp.MustCompile(`\S*-\S*`)

// words returns a command whose words with hyphens, such as "--user", break at their ends first.
func words(text string) template.HTML {
	return template.HTML(hyphenated.ReplaceAllString(template.HTMLEscapeString(text), "<span>$0</span>"))
}

// none is shown for a value that does not exist.
const none = "—"

// number returns an integer with a comma between thousands.
func number(value int64) string {
	digits := strconv.FormatInt(value, 10)
	sign := ""
	if value < 0 {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

// binaryUnits are the units of 1024, from the unit of MEMORY_MB.
var binaryUnits = []string{"MiB", "GiB", "TiB", "PiB", "EiB"}

// amount returns an amount of a class with its unit, for example "412 GiB" of MEMORY_MB.
func amount(class string, value int64) string {
	if value == 0 {
		return "0"
	}
	texts, unit := scaled(class, value)
	return strings.TrimSpace(texts[0] + " " + unit)
}

// amounts returns two amounts of a class in the same unit, for example "192" and "248 GiB".
func amounts(class string, used, capacity int64) (string, string) {
	texts, unit := scaled(class, used, capacity)
	return texts[0], strings.TrimSpace(texts[1] + " " + unit)
}

// scaled returns values in the unit that suits the largest of them. Below 10,000 it prefers a unit in which the values
// are whole numbers: 3,600 GiB, not 3.52 TiB.
func scaled(class string, values ...int64) (texts []string, unit string) {
	at := slices.Index([]string{"MEMORY_MB", "DISK_GB"}, class)
	texts = make([]string, len(values))
	divisor := int64(1)
	if at >= 0 {
		for at < len(binaryUnits)-1 && shouldRaise(values, divisor, at >= 2) {
			divisor *= 1024
			at++
		}
		unit = binaryUnits[at]
	}
	for i, value := range values {
		texts[i] = rounded(float64(value) / float64(divisor))
	}
	return texts, unit
}

// shouldRaise reports whether the next unit suits the values better than the unit of the divisor. In large units, from
// TiB, it is enough that a value has more than three digits.
func shouldRaise(values []int64, divisor int64, isLarge bool) bool {
	largest, whole, wholeNext := int64(0), true, true
	for _, value := range values {
		largest = max(largest, value/divisor, -value/divisor)
		whole = whole && value%divisor == 0
		wholeNext = wholeNext && value%(divisor*1024) == 0
	}
	return largest >= 1024 && (largest >= 10_000 || wholeNext || !whole || isLarge)
}

// rounded returns a number with three significant digits, and all digits before the decimal point.
func rounded(value float64) string {
	switch size := math.Abs(value); {
	case value == math.Trunc(value) || size >= 100:
		return number(int64(math.Round(value)))
	case size >= 10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	default:
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
}

// share returns a fraction as a percentage with one decimal, or a dash without a whole.
func share(part, whole float64) string {
	if whole <= 0 {
		return none
	}
	return strconv.FormatFloat(part/whole*100, 'f', 1, 64) + " %"
}

// percent returns a fraction as a percentage without decimals. It returns 0 % and 100 % only for exact values.
func percent(part, whole float64) string {
	if whole <= 0 {
		return none
	}
	value := math.Round(part / whole * 100)
	switch {
	case part > 0 && value == 0:
		value = 1
	case part < whole && value == 100:
		value = 99
	}
	return strconv.Itoa(int(value)) + " %"
}

// short returns the first 8 characters of a UUID and an ellipsis.
func short(id string) string {
	if len(id) <= 9 {
		return id
	}
	return id[:8] + "…"
}

// clock returns the time of day, in UTC.
func clock(at time.Time) string { return at.UTC().Format("15:04:05") }

// moment returns a date and time of day.
func moment(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }

// stamp returns a time as RFC 3339, in UTC.
func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// age returns the time between two times in its largest unit, for example "12 days".
func age(from, to time.Time) string {
	switch d := to.Sub(from); {
	case from.IsZero():
		return none
	case d < time.Minute:
		return strconv.Itoa(int(max(d, 0)/time.Second)) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	default:
		return strconv.Itoa(int(d/(24*time.Hour))) + " days"
	}
}
