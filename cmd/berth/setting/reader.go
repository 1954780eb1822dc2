package setting

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
)

// Reader converts the text of a setting to its value.
type Reader struct {
	// Kind is the type of the value in the help; a "bool" flag needs no value.
	Kind string
	// Secret marks values that are masked in output, by Mask, or entirely if it is nil.
	Secret bool
	Mask   func(text string) string
	// repeats lets the flag be given more than once; the values are joined by commas.
	Repeats bool
	// Read stores the value, and returns the rule that the text breaks or nil.
	Read func(text string) *frame.Rule
}

// Text returns a reader that takes any text.
func Text(field *string) Reader {
	return Reader{Kind: "text", Read: func(text string) *frame.Rule {
		*field = text
		return nil
	}}
}

// Boolean returns a reader of true and false as strconv.ParseBool accepts them.
func Boolean(field *bool) Reader {
	return Reader{Kind: "bool", Read: func(text string) *frame.Rule {
		value, err := strconv.ParseBool(text)
		if err != nil {
			return &frame.Rule{Broken: "is neither true nor false", Remedy: "write true or false"}
		}
		*field = value
		return nil
	}}
}

// Integer returns a reader of whole numbers from least to most.
func Integer[N int | int64](field *N, least, most int64) Reader {
	return Reader{Kind: "number", Read: func(text string) *frame.Rule {
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil || value < least || value > most {
			remedy := "write digits only, without a unit"
			if least < 0 {
				remedy = fmt.Sprintf("write %d, or digits without a unit", least)
			}
			return &frame.Rule{Broken: fmt.Sprintf("is not a whole number from %d to %d", least, most), Remedy: remedy}
		}
		*field = N(value)
		return nil
	}}
}

// Duration returns a reader of durations from least to most, such as 500ms or 2m.
func Duration(field *time.Duration, least, most time.Duration) Reader {
	return Reader{Kind: "duration", Read: func(text string) *frame.Rule {
		value, err := time.ParseDuration(text)
		if err != nil {
			return &frame.Rule{Broken: "is not a duration", Remedy: "write a number with its unit, such as 500ms, 30s or 2m"}
		}
		if value < least || value > most {
			return &frame.Rule{Broken: "is out of range", Remedy: fmt.Sprintf("write a duration from %s to %s", least, most)}
		}
		*field = value
		return nil
	}}
}

// OneOf returns a reader of one of the choices, case-sensitive.
func OneOf(field *string, choices ...string) Reader {
	return Reader{Kind: "text", Read: func(text string) *frame.Rule {
		if !slices.Contains(choices, text) {
			return &frame.Rule{Broken: "is not one of the choices", Remedy: "write one of " + strings.Join(choices, ", ")}
		}
		*field = text
		return nil
	}}
}

// Address returns a reader of a host and port.
func Address(field *string) Reader {
	return Reader{Kind: "address", Read: func(text string) *frame.Rule {
		remedy := "write an address and a port, such as 127.0.0.1:8778, [::1]:8778 or :8778"
		host, port, err := net.SplitHostPort(text)
		if err != nil || strings.ContainsAny(host, "/@ ") {
			return &frame.Rule{Broken: "is not an address with a port", Remedy: remedy}
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return &frame.Rule{Broken: "has no port from 0 to 65535", Remedy: remedy}
		}
		*field = text
		return nil
	}}
}

// OptionalAddress returns a reader like Address that also accepts an empty text.
func OptionalAddress(field *string) Reader {
	given := Address(field)
	return Reader{Kind: given.Kind, Read: func(text string) *frame.Rule {
		if text == "" {
			return nil
		}
		return given.Read(text)
	}}
}

// Paths returns a reader of a list of files or directories. It does not check whether they exist.
func Paths(kind string) Reader {
	return Reader{Kind: kind, Repeats: true, Read: func(string) *frame.Rule { return nil }}
}

// SplitList splits a comma-separated list; it drops blanks around commas and empty elements.
func SplitList(text string) []string {
	list := []string{}
	for element := range strings.SplitSeq(text, ",") {
		if element = strings.TrimSpace(element); element != "" {
			list = append(list, element)
		}
	}
	return list
}

// IsLoopback reports whether only this host can reach a listen address. It is false for names
// other than localhost, whatever they resolve to, and for an empty host, which means all
// interfaces.
func IsLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
