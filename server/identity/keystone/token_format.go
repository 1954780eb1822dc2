package keystone

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The formats of tokens for Options.TokenFormats. Keystone issues Fernet tokens and, with [token] provider
// = jws, JSON web signatures. Old releases issued UUIDs of 32 hexadecimal digits, and third-party
// providers may issue any format.
const (
	FormatFernet = "fernet"
	FormatJWS    = "jws"
	FormatUUID   = "uuid"
	FormatAny    = "any"
)

// tokenFormats maps each format to its check. FormatAny, which accepts all tokens, has none.
var tokenFormats = map[string]func(text string) bool{
	FormatFernet: isFernet, FormatJWS: isJWS, FormatUUID: isHexUUID, FormatAny: nil,
}

// formatsOf returns the checks of the named formats, nil if all tokens are sent to Keystone.
func formatsOf(names []string) ([]func(string) bool, error) {
	var checks []func(string) bool
	for _, name := range names {
		check, ok := tokenFormats[name]
		if !ok {
			return nil, fmt.Errorf("keystone: invalid token format %q: want fernet, jws, uuid or any", name)
		}
		checks = append(checks, check)
	}
	if slices.Contains(names, FormatAny) {
		return nil, nil
	}
	return checks, nil
}

// wellFormed reports whether one of the checks accepts a token. An empty list accepts all tokens.
func wellFormed(checks []func(string) bool, text string) bool {
	return len(checks) == 0 || slices.ContainsFunc(checks, func(check func(string) bool) bool { return check(text) })
}

// The parts of a Fernet token: a version, a time, an initialization vector, encrypted blocks and a
// signature (the specification of Fernet, "Token Format").
const (
	fernetVersion   = 0x80
	fernetFixedSize = 1 + 8 + 16 + 32
	fernetBlockSize = 16
)

// canonical decodes exactly one encoding of each token, so that a client cannot fill the cache with other
// encodings.
var canonical = base64.RawURLEncoding.Strict()

// isFernet reports whether text is a Fernet token, with or without padding; Keystone removes padding.
func isFernet(text string) bool {
	decoded, err := canonical.DecodeString(strings.TrimSuffix(strings.TrimSuffix(text, "="), "="))
	return err == nil && len(decoded) >= fernetFixedSize+fernetBlockSize && decoded[0] == fernetVersion &&
		(len(decoded)-fernetFixedSize)%fernetBlockSize == 0
}

// jwsSignatureSize is the length in bytes of an ES256 signature, the only algorithm that Keystone's
// provider uses.
const jwsSignatureSize = 64

// isJWS reports whether text is a token of Keystone's provider jws. It rejects headers with another
// algorithm or a key id that is not a string, because Keystone answers 500 to them.
func isJWS(text string) bool {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return false
	}
	var header, payload map[string]any
	signature, err := canonical.DecodeString(parts[2])
	if err != nil || len(signature) != jwsSignatureSize || !decodePart(parts[0], &header) || !decodePart(parts[1], &payload) {
		return false
	}
	if id, named := header["kid"]; named {
		if _, ok := id.(string); !ok {
			return false
		}
	}
	return header["alg"] == "ES256" && payload != nil
}

func decodePart(text string, into *map[string]any) bool {
	decoded, err := canonical.DecodeString(text)
	return err == nil && json.Unmarshal(decoded, into) == nil
}

// isHexUUID reports whether text consists of 32 hexadecimal digits.
func isHexUUID(text string) bool {
	return len(text) == 32 && !strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) })
}
