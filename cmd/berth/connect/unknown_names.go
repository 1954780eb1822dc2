package connect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

// nameKind is a kind of names that requests have: resource classes or traits.
type nameKind struct {
	// unknown matches the error of the service for unknown names, with the names.
	unknown *regexp.Regexp
	// noun is for the text, family the command that lists and creates the names.
	noun, family string
	list         func(*client.Client, context.Context) ([]string, error)
}

var nameKinds = []nameKind{
	{regexp.MustCompile(`No such resource class (\S+?)\.?(?: |$)`), "resource class", "class",
		(*client.Client).ResourceClassList},
	{regexp.MustCompile(`No such trait(?:\(s\):)? (.+?)\.?$`), "trait", "trait",
		func(service *client.Client, ctx context.Context) ([]string, error) {
			return service.TraitList(ctx, client.TraitFilter{})
		}},
}

// schemaTail is what the service appends to an error of a body: the rule, as JSON, and the value again.
var schemaTail = regexp.MustCompile(`\s*Failed validating .*$`)

// inOwnWords returns an error of the service about unknown names as an error of the flag or argument that has them, with
// similar names. Other errors are unchanged, except that they do not repeat JSON schemas.
func inOwnWords(c *cobra.Command, service *client.Client, err error, arguments []string) error {
	var failed *client.Error
	if !errors.As(err, &failed) || failed.Status != http.StatusBadRequest {
		return err
	}
	for _, kind := range nameKinds {
		found := kind.unknown.FindStringSubmatch(failed.Detail)
		if found == nil {
			continue
		}
		known, has := suggestions(failed.Explanation)
		if !has {
			var unread error
			if known, unread = kind.list(service, c.Context()); unread != nil {
				return err
			}
		}
		var wrong frame.InputErrors
		for name := range strings.SplitSeq(found[1], ", ") {
			wrong = append(wrong, kind.unknownName(c, arguments, strings.Trim(name, "' "), known))
		}
		return wrong
	}
	failed.Detail = schemaTail.ReplaceAllString(failed.Detail, "")
	return err
}

// suggestions returns the similar names that an error of berth 1.2 has, and whether it has any.
func suggestions(of *client.Explanation) (names []string, has bool) {
	if of != nil {
		for _, conflict := range of.Conflicts {
			names = append(names, conflict.Similar...)
		}
	}
	return names, len(names) > 0
}

// unknownName returns the error of one name.
func (k nameKind) unknownName(c *cobra.Command, arguments []string, name string, known []string) error {
	setting, origin := k.noun, "request"
	c.Flags().Visit(func(flag *pflag.Flag) {
		if mentions(flag.Value.String(), name) {
			setting, origin = flag.Name, "flag --"+flag.Name
		}
	})
	if origin == "request" && slices.ContainsFunc(arguments, func(argument string) bool { return mentions(argument, name) }) {
		origin = "argument"
	}
	return &frame.InputError{Setting: setting, Value: terminal.Safe(name), Origin: origin, Rule: frame.Rule{
		Broken: "is not a " + k.noun + " of this service", Remedy: k.remedy(name, known),
	}}
}

// remedy suggests similar names, also among those with and without CUSTOM_, or how to find and create names.
func (k nameKind) remedy(name string, known []string) string {
	const custom = "CUSTOM_"
	own := custom + strings.TrimPrefix(name, custom)
	similar := frame.Similar(name, known)
	for _, other := range []string{strings.TrimPrefix(name, custom), own} {
		if slices.Contains(known, other) {
			similar = []string{other}
		}
	}
	if len(similar) > 0 {
		return "did you mean " + terminal.Safe(strings.Join(similar, " or ")) + "?"
	}
	return fmt.Sprintf("'berth %[1]s list' lists all, 'berth %[1]s create %[2]s' creates it", k.family, terminal.Safe(own))
}

// mentions reports whether a value has a name as a word, in any case.
func mentions(value, name string) bool {
	words := strings.FieldsFunc(value, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, name) })
}
