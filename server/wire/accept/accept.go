// Package accept parses the Accept request header to the extent that this server needs: the quality that a
// client gives to a media type.
//
// It is not a general content negotiation: the server has one format for responses and three for errors.
// huma's own negotiation does not support wildcards, and the Go modules that do (gddo's httputil,
// timewasted/go-accept-headers) are unmaintained.
package accept

import (
	"strconv"
	"strings"
)

// Ranges is the list of media ranges of a header, in their order.
type Ranges []mediaRange

type mediaRange struct {
	kind, subtype string
	quality       float64
}

// Parse parses a header. An empty header, or one that violates the grammar, accepts everything, as in
// OpenStack Placement.
func Parse(header string) Ranges {
	var ranges Ranges
	for part := range strings.SplitSeq(header, ",") {
		fields := strings.Split(part, ";")
		kind, subtype, ok := strings.Cut(strings.TrimSpace(fields[0]), "/")
		if !ok || kind == "" || subtype == "" {
			return Ranges{{kind: "*", subtype: "*", quality: 1}}
		}
		ranges = append(ranges, mediaRange{
			kind: strings.ToLower(kind), subtype: strings.ToLower(subtype), quality: quality(fields[1:]),
		})
	}
	return ranges
}

func quality(params []string) float64 {
	for _, param := range params {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		if q, err := strconv.ParseFloat(value, 64); err == nil && q >= 0 && q <= 1 {
			return q
		}
	}
	return 1
}

// Quality returns the quality of a media type such as "application/json": that of the most specific range
// that matches, 0 if none does.
func (r Ranges) Quality(mediaType string) float64 {
	kind, subtype, _ := strings.Cut(mediaType, "/")
	best, result := -1, 0.0
	for _, given := range r {
		specific := -1
		switch {
		case given.kind == kind && given.subtype == subtype:
			specific = 2
		case given.kind == kind && given.subtype == "*":
			specific = 1
		case given.kind == "*" && given.subtype == "*":
			specific = 0
		}
		if specific > best {
			best, result = specific, given.quality
		}
	}
	return result
}
