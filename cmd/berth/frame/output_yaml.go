package frame

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// writeYAML writes the JSON of a value as YAML, with the members in their order. It escapes what terminal.WriteJSON escapes.
func writeYAML(out io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var document yaml.Node // JSON is YAML, apart from characters that YAML does not allow unescaped
	if err := yaml.Unmarshal([]byte(escapeRunes(string(text), isForbidden)), &document); err != nil {
		return err
	}
	if err := useBlocks(&document); err != nil {
		return err
	}
	var written strings.Builder
	encoder := yaml.NewEncoder(&written)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return err
	}
	_, err = io.WriteString(out, escapeRunes(written.String(), isHidden))
	return err
}

// useBlocks removes the styles of JSON: braces, and quotes that YAML does not need. Strings that are quoted in YAML, also in
// its version 1.1 where yes is a boolean, keep their quotes, and so do those with hidden characters.
func useBlocks(node *yaml.Node) error {
	switch {
	case node.Kind != yaml.ScalarNode:
		node.Style = 0
	case node.Tag == "!!str" && !strings.ContainsFunc(node.Value, isHidden):
		var encoded yaml.Node
		if err := encoded.Encode(node.Value); err != nil {
			return err
		}
		node.Style = encoded.Style
	}
	for _, child := range node.Content {
		if err := useBlocks(child); err != nil {
			return err
		}
	}
	return nil
}

// isHidden reports whether a terminal should not receive a character. They occur in quoted strings only, except for line
// breaks.
func isHidden(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }

// isForbidden reports whether a character of JSON is not allowed, or has another meaning, in YAML.
func isForbidden(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// escapeRunes replaces some characters with their escapes in a quoted string.
func escapeRunes(text string, isEscaped func(rune) bool) string {
	if !strings.ContainsFunc(text, isEscaped) {
		return text
	}
	var escaped strings.Builder
	for _, r := range text {
		switch {
		case !isEscaped(r):
			escaped.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&escaped, `\U%08x`, r)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	return escaped.String()
}
