package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"
)

// The parts of a token: a prefix by which scanners for secrets find it, 256 random bits, and a checksum of
// both. The checksum detects typing errors, and tells scanners real tokens from other text. The bits and
// the checksum are lower case hexadecimal digits.
const (
	prefix         = "berth_"
	randomSize     = 32
	checksumDigits = 2 * crc32.Size
	tokenLength    = len(prefix) + 2*randomSize + checksumDigits
)

// hash is the SHA-256 of a token. A token is 256 random bits, which no attacker guesses, so a slow hash
// would protect nothing, and would let clients without a token use CPU time.
type hash = [sha256.Size]byte

// newToken returns a random token.
func newToken() string {
	random := make([]byte, randomSize)
	rand.Read(random) // it never returns an error
	body := prefix + hex.EncodeToString(random)
	return body + checksumOf(body)
}

func checksumOf(body string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) }

// isWellFormed reports whether text has the form of a token and the right checksum.
func isWellFormed(text string) bool {
	if len(text) != tokenLength || !strings.HasPrefix(text, prefix) || strings.Trim(text[len(prefix):], "0123456789abcdef") != "" {
		return false
	}
	body := text[:tokenLength-checksumDigits]
	return text[len(body):] == checksumOf(body)
}
