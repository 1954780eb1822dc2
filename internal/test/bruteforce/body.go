package bruteforce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// body is the body of POST /allocation_candidates (docs/contract/berth/search.md#requests-with-a-body).
type body struct {
	Groups       *bodyGroups `json:"groups"`
	RootRequired []string    `json:"root_required"`
	RootMemberOf []string    `json:"root_member_of"`
	NotInTree    []string    `json:"not_in_tree"`
	Isolate      [][]string  `json:"isolate"`
	SameSubtree  [][]string  `json:"same_subtree"`
	CanSplit     []string    `json:"can_split"`
	GroupPolicy  *string     `json:"group_policy"`
	Order        *string     `json:"order"`
	Limit        *int64      `json:"limit"`
	LimitPerTree *int64      `json:"limit_per_tree"`
}

// bodyGroups are groups in the order of the body.
type bodyGroups []bodyGroup

type bodyGroup struct {
	suffix    string
	Resources *bodyAmounts `json:"resources"`
	Required  []string     `json:"required"`
	MemberOf  []string     `json:"member_of"`
	InTree    *string      `json:"in_tree"`
}

// bodyAmounts are the amounts of a group in the order of the body.
type bodyAmounts []bodyAmount

type bodyAmount struct {
	class  string
	amount int64
}

const (
	invalidBody = "JSON does not validate: "
	emptyObject = invalidBody + "{} does not have enough properties"
)

var groupKeys = regexp.MustCompile(`^[a-zA-Z0-9_-]{0,64}$`)

// QueryOf returns the query string that is equivalent to a body, or the error of the schema of the body. It reports the
// keywords minProperties, minimum, additionalProperties, required, enum and format; other errors have a text of their own.
func QueryOf(text string) (string, *Refusal) {
	var read body
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			name = strings.Trim(name, `"`)
			return "", refusedBody("Additional properties are not allowed ('%s' was unexpected)", name)
		}
		return "", &Refusal{Code: (&Refusal{}).codeOrDefault(), Detail: strings.TrimPrefix(err.Error(), "json: ")}
	}
	if read.Groups == nil {
		return "", refusedBody("'groups' is a required property")
	}
	for _, limit := range []*int64{read.Limit, read.LimitPerTree} {
		if limit != nil && *limit < 1 {
			return "", refusedBody("%d is less than the minimum of 1", *limit)
		}
	}
	if policy := read.GroupPolicy; policy != nil && *policy != "none" && *policy != "isolate" {
		return "", refusedBody("'%s' is not one of ['none', 'isolate']", *policy)
	}
	for _, g := range *read.Groups {
		if g.InTree == nil {
			continue
		}
		if _, ok := uuidOf(*g.InTree); !ok {
			return "", refusedBody("'%s' is not a 'uuid'", *g.InTree)
		}
	}
	return read.query(), nil
}

func refusedBody(format string, values ...any) *Refusal {
	return &Refusal{Code: (&Refusal{}).codeOrDefault(), Detail: invalidBody + fmt.Sprintf(format, values...)}
}

// members calls read for each member of an object, in their order.
func members(text []byte, read func(key string, value *json.Decoder) error) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return errors.New(invalidBody + "not an object")
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		if err := read(key.(string), decoder); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (g *bodyGroups) UnmarshalJSON(text []byte) error {
	err := members(text, func(key string, value *json.Decoder) error {
		if !groupKeys.MatchString(key) {
			return errors.New(invalidBody + "'" + key + "' does not match any of the regexes: '" + groupKeys.String() + "'")
		}
		read := bodyGroup{suffix: key}
		err := value.Decode(&read)
		*g = append(*g, read)
		return err
	})
	if err == nil && len(*g) == 0 {
		return errors.New(emptyObject)
	}
	return err
}

func (a *bodyAmounts) UnmarshalJSON(text []byte) error {
	err := members(text, func(class string, value *json.Decoder) error {
		read := bodyAmount{class: class}
		if err := value.Decode(&read.amount); err != nil {
			return err
		}
		*a = append(*a, read)
		if read.amount < 1 {
			return fmt.Errorf(invalidBody+"%d is less than the minimum of 1", read.amount)
		}
		return nil
	})
	if err == nil && len(*a) == 0 {
		return errors.New(emptyObject)
	}
	return err
}

// bodyQuery is a query string under construction.
type bodyQuery []string

func (q *bodyQuery) add(name string, values ...string) {
	for _, value := range values {
		*q = append(*q, name+"="+url.QueryEscape(value))
	}
}

func (q *bodyQuery) addLists(name string, lists [][]string) {
	for _, list := range lists {
		q.add(name, strings.Join(list, ","))
	}
}

func (q *bodyQuery) addLimit(name string, limit *int64) {
	if limit != nil {
		q.add(name, strconv.FormatInt(*limit, 10))
	}
}

func (q *bodyQuery) addText(name string, text *string) {
	if text != nil {
		q.add(name, *text)
	}
}

// query returns the query string of a body: the groups, then the other members in the order of their table.
func (b *body) query() string {
	var query bodyQuery
	for _, g := range *b.Groups {
		if g.Resources != nil {
			var amounts []string
			for _, each := range *g.Resources {
				amounts = append(amounts, fmt.Sprintf("%s:%d", each.class, each.amount))
			}
			query.add("resources"+g.suffix, strings.Join(amounts, ","))
		}
		query.add("required"+g.suffix, g.Required...)
		query.add("member_of"+g.suffix, g.MemberOf...)
		query.addText("in_tree"+g.suffix, g.InTree)
	}
	query.addLists("root_required", oneList(b.RootRequired))
	query.add("root_member_of", b.RootMemberOf...)
	query.addLists("not_in_tree", oneList(b.NotInTree))
	query.addLists("isolate", b.Isolate)
	query.addLists("same_subtree", b.SameSubtree)
	query.addLists("can_split", oneList(b.CanSplit))
	query.addText("group_policy", b.GroupPolicy)
	query.addText("order", b.Order)
	query.addLimit("limit", b.Limit)
	query.addLimit("limit_per_tree", b.LimitPerTree)
	return strings.Join(query, "&")
}

// oneList returns the list as the only element, or nothing for an empty list.
func oneList(elements []string) [][]string {
	if len(elements) == 0 {
		return nil
	}
	return [][]string{elements}
}
