package keystone

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

// encode, jws and fernet build tokens from parts.
var (
	encode = base64.RawURLEncoding.EncodeToString
	jws    = func(header, payload string) string {
		return encode([]byte(header)) + "." + encode([]byte(payload)) + "." + encode(make([]byte, jwsSignatureSize))
	}
	fernet = func(version byte, size int) string { return encode(append([]byte{version}, make([]byte, size-1)...)) }
)

func TestKeystone_TokenFormat_IsChecked(t *testing.T) {
	t.Parallel()
	real := fernetToken("real")
	for text, want := range map[string]string{
		real:         FormatFernet,
		real + "===": "",
		strings.TrimSuffix(fernet(0x80, 57+16), "A") + "B": "",
		real + "==":                 FormatFernet,
		fernet(0x80, 57+16):         FormatFernet,
		fernet(0x80, 57+16*300):     FormatFernet,
		fernet(0x80, 57):            "",
		fernet(0x80, 57+16+1):       "",
		fernet(0x81, 57+16):         "",
		"gAAAAAB":                   "",
		real[:len(real)-1]:          "",
		real[:50] + "+" + real[51:]: "",
		real[:50] + "%" + real[51:]: "",
		jws(`{"typ":"JWT","alg":"ES256"}`, `{"sub":"u","exp":1}`): FormatJWS,
		jws(`{"alg":"ES256","kid":"k"}`, `{}`):                    FormatJWS,
		jws(`{"alg":"none"}`, `{}`):                               "",
		jws(`{"alg":"none","ALG":"ES256"}`, `{}`):                 "",
		jws(`{"alg":"HS256"}`, `{}`):                              "",
		jws(`{"alg":"ES256","kid":1}`, `{}`):                      "",
		jws(`{"alg":"ES256"}`, `null`):                            "",
		jws(`null`, `{}`):                                         "",
		jws(`{"alg":"ES256"}`, `no JSON`):                         "",
		jws(`{"alg":"ES256"}`, `{}`) + "A":                        "",
		strings.TrimSuffix(jws(`{"alg":"ES256"}`, `{}`), "A"):     "",
		"a.b.c": "", "..": "", "": "", "admin": "",
		"0123456789abcdefABCDEF0123456789":     FormatUUID,
		"0123456789abcdefABCDEF012345678":      "",
		"0123456789abcdefABCDEF012345678g":     "",
		"01234567-89ab-cdef-ABCD-EF0123456789": "",
	} {
		for format, check := range tokenFormats {
			if got := format == FormatAny || check(text); got != (format == want || format == FormatAny) {
				t.Errorf("%s: %q is %v", format, text, got)
			}
		}
	}
}

func TestKeystone_MalformedToken_RefusedWithoutAsking(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	valid := fernetToken("valid")
	keystone.know(valid, time.Hour, nil, "")
	keystone.know("0123456789abcdef0123456789abcdef", time.Hour, nil, "")
	by := keystone.authenticator(t, func(o *Options) { o.TokenFormats = []string{FormatFernet, FormatJWS} })
	for _, token := range []string{"admin", "0123456789abcdef0123456789abcdef", "gAAAAAB" + strings.Repeat("A", 10)} {
		_, err := ask(t, by, "X-Auth-Token", token)
		wantRefused(t, err, "has none of the accepted formats")
		_, err = ask(t, by, "X-Auth-Token", valid, "X-Service-Token", token)
		wantRefused(t, err, "service token: the token has none of the accepted formats")
	}
	keystone.want(t, 0, 0)
	if got := by.Stats(); got["malformed"] != 6 || got["invalid"] != 0 || got["error"] != 0 {
		t.Errorf("counters = %v", got)
	}
	if _, err := ask(t, by, "X-Auth-Token", valid); err != nil {
		t.Error(err)
	}
	for _, formats := range [][]string{{FormatUUID}, {FormatFernet, FormatAny}, nil} {
		lenient := keystone.authenticator(t, func(o *Options) { o.TokenFormats = formats })
		if _, err := ask(t, lenient, "X-Auth-Token", "0123456789abcdef0123456789abcdef"); err != nil {
			t.Errorf("%v: %v", formats, err)
		}
	}
	options := keystone.options()
	options.TokenFormats = []string{"pki"}
	if _, err := New(options); err == nil {
		t.Error("formatsOf = nil error for an unknown format")
	}
}
