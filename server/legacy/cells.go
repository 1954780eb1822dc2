package legacy

import (
	"crypto/md5"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/uuidlike"
)

// id is a uuid as it is meant, and as it was spelled where that is another way.
type id struct {
	uuid    uuid.UUID
	spelled *string
}

// readID finds the uuid in a spelling. What is none, such as 36 hyphens, which the
// Python service lets pass, gets one made of its hash: always the same, and what is
// allocated under it stays allocated.
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

// row is one of the old schema: int64, *int64, string, *string, id, *id, float64 or
// *time.Time, as the kinds of its columns say.
type row []any

// convert brings what a driver read to the type of the column's kind.
func (s *Source) convert(c column, value any) (any, error) {
	if bytes, ok := value.([]byte); ok {
		value = string(bytes)
	}
	switch c.kind {
	case number, perhaps:
		return toInteger(c, value)
	case words, maybeWords, identity, maybeIdentity:
		return toText(c, value)
	case ratio:
		return s.toRatio(value)
	default:
		return toMoment(value)
	}
}

func toInteger(c column, value any) (any, error) {
	var read int64
	switch v := value.(type) {
	case nil:
		if c.kind == perhaps {
			return (*int64)(nil), nil
		}
		return nil, fmt.Errorf("is null")
	case int64:
		read = v
	case float64:
		if read = int64(v); float64(read) != v {
			return nil, fmt.Errorf("is %v, no whole number", v)
		}
	case string:
		parsed, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("is %q, no whole number", v)
		}
		read = parsed
	default:
		return nil, fmt.Errorf("is %v, no whole number", v)
	}
	if c.kind == perhaps {
		return &read, nil
	}
	return read, nil
}

func toText(c column, value any) (any, error) {
	text, isText := value.(string)
	switch {
	case value == nil && c.kind == maybeWords:
		return (*string)(nil), nil
	case value == nil && c.kind == maybeIdentity:
		return (*id)(nil), nil
	case value == nil:
		return nil, fmt.Errorf("is null")
	case !isText:
		text = fmt.Sprint(value)
	}
	// PostgreSQL holds neither.
	if strings.ContainsRune(text, 0) {
		return nil, fmt.Errorf("is %q, with a zero byte", text)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("is %q, which is not UTF-8", text)
	}
	switch c.kind {
	case maybeWords:
		return &text, nil
	case identity, maybeIdentity:
		read := readID(text)
		return &read, nil
	}
	return text, nil
}

// toRatio reads a ratio. One of single precision becomes the shortest decimal that
// means it: 1.1 was written, and 1.100000023841858 would be shown.
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
			return nil, fmt.Errorf("is %q, no number", v)
		}
		read = parsed
	default:
		return nil, fmt.Errorf("is %v, no number", value)
	}
	if s.singlePrecision {
		return shortest(read), nil
	}
	return read, nil
}

// shortest is the shortest decimal that is a number in single precision.
func shortest(exact float64) float64 {
	read, _ := strconv.ParseFloat(strconv.FormatFloat(exact, 'g', -1, 32), 64)
	return read
}

// toMoment reads a naive time as one in UTC. MySQL's time zero, and what is no time
// at all, is none; see isUnreadable.
func toMoment(value any) (any, error) {
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

// isUnreadable tells of a value that was read as no time, and was not empty.
func isUnreadable(value, read any) bool {
	if at, ok := read.(*time.Time); !ok || at != nil || value == nil {
		return false
	}
	text := fmt.Sprintf("%s", value)
	return text != "" && !strings.HasPrefix(text, "0000-00-00")
}
