package placementdb

import (
	"crypto/md5"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/wire/uuidlike"
)

// id is a UUID in canonical form, and its original text if that differs.
type id struct {
	uuid    uuid.UUID
	spelled *string
}

// readID parses a UUID in any spelling. OpenStack Placement accepts texts that are not UUIDs, such as 36
// hyphens; such a text gets a UUID derived from its hash. The hash is stable, so its allocations stay
// connected.
func readID(text string) id {
	read, isUUID := uuidlike.Parse(text)
	if !isUUID {
		read = uuid.UUID(md5.Sum([]byte("not a uuid: " + text)))
	}
	if read.String() == text {
		return id{uuid: read}
	}
	return id{uuid: read, spelled: &text}
}

// row is a row of the source: int64, *int64, string, *string, id, *id, float64 or *time.Time, by the kind
// of each column.
type row []any

// convert converts a value of the driver to the type of the column's kind.
func (s *Source) convert(c column, value any) (any, error) {
	if bytes, ok := value.([]byte); ok {
		value = string(bytes)
	}
	switch c.kind {
	case kindInt, kindNullInt:
		return toInteger(c, value)
	case kindText, kindNullText, kindUUID, kindNullUUID:
		return toText(c, value)
	case kindFloat:
		return s.toRatio(value)
	default:
		return toTime(value)
	}
}

func toInteger(c column, value any) (any, error) {
	var read int64
	switch v := value.(type) {
	case nil:
		if c.kind == kindNullInt {
			return (*int64)(nil), nil
		}
		return nil, fmt.Errorf("is null")
	case int64:
		read = v
	case float64:
		if read = int64(v); float64(read) != v {
			return nil, fmt.Errorf("is %v, want a whole number", v)
		}
	case string:
		parsed, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("is %q, want a whole number", v)
		}
		read = parsed
	default:
		return nil, fmt.Errorf("is %v, want a whole number", v)
	}
	if c.kind == kindNullInt {
		return &read, nil
	}
	return read, nil
}

func toText(c column, value any) (any, error) {
	text, isText := value.(string)
	switch {
	case value == nil && c.kind == kindNullText:
		return (*string)(nil), nil
	case value == nil && c.kind == kindNullUUID:
		return (*id)(nil), nil
	case value == nil:
		return nil, fmt.Errorf("is null")
	case !isText:
		text = fmt.Sprint(value)
	}
	// PostgreSQL stores neither.
	if strings.ContainsRune(text, 0) {
		return nil, fmt.Errorf("is %q, with a zero byte", text)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("is %q, which is not UTF-8", text)
	}
	switch c.kind {
	case kindNullText:
		return &text, nil
	case kindUUID, kindNullUUID:
		read := readID(text)
		return &read, nil
	}
	return text, nil
}

// toRatio parses a ratio. A single-precision value becomes the shortest decimal that rounds to it: 1.1 was
// written, and 1.100000023841858 would be shown.
func (s *Source) toRatio(value any) (any, error) {
	var read float64
	switch v := value.(type) {
	case float64:
		read = v
	case int64:
		read = float64(v)
	case string:
		parsed, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return nil, fmt.Errorf("is %q, want a number", v)
		}
		read = parsed
	default:
		return nil, fmt.Errorf("is %v, want a number", value)
	}
	if s.singlePrecision {
		return shortest(read), nil
	}
	return read, nil
}

// shortest returns the shortest decimal that rounds to a single-precision number.
func shortest(exact float64) float64 {
	read, _ := strconv.ParseFloat(strconv.FormatFloat(exact, 'g', -1, 32), 64)
	return read
}

// toTime parses a time without time zone as UTC. It returns nil for MySQL's zero time and for invalid
// times; see isUnreadable.
func toTime(value any) (any, error) {
	switch v := value.(type) {
	case time.Time:
		naive := time.Date(v.Year(), v.Month(), v.Day(), v.Hour(), v.Minute(), v.Second(), v.Nanosecond(), time.UTC).Truncate(time.Microsecond)
		return &naive, nil
	case string:
		for _, layout := range []string{"2006-01-02 15:04:05.999999", "2006-01-02T15:04:05.999999"} {
			if read, err := time.Parse(layout, strings.TrimSuffix(v, "+00:00")); err == nil && read.Year() > 0 {
				return &read, nil
			}
		}
	}
	return (*time.Time)(nil), nil
}

// isUnreadable reports whether value is not empty and not a valid time.
func isUnreadable(value, read any) bool {
	if at, ok := read.(*time.Time); !ok || at != nil || value == nil {
		return false
	}
	text := fmt.Sprintf("%s", value)
	return text != "" && !strings.HasPrefix(text, "0000-00-00")
}
