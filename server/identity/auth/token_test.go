package auth_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server/identity/auth"
)

// The challenges of a 401, as RFC 6750 defines them.
const (
	challenge = `Bearer realm="berth"`
	invalid   = `Bearer realm="berth", error="invalid_token"`
)

func TestAuth_TokenHeaders_YieldOneToken(t *testing.T) {
	t.Parallel()
	type h = http.Header
	cases := []struct {
		name    string
		headers h
		want    string
		err     *auth.UnauthenticatedError
	}{
		{"X-Auth-Token", h{"X-Auth-Token": {"abc"}}, "abc", nil},
		{"blanks around it", h{"X-Auth-Token": {" abc\t"}}, "abc", nil},
		{"a bearer token", h{"Authorization": {"Bearer abc"}}, "abc", nil},
		{"the scheme ignores case", h{"Authorization": {"bEARER   abc "}}, "abc", nil},
		{"both, equal", h{"X-Auth-Token": {"abc"}, "Authorization": {"Bearer abc"}}, "abc", nil},
		{"a service token is ignored", h{"X-Auth-Token": {"abc"}, "X-Service-Token": {"def"}}, "abc", nil},
		{"none", h{}, "", &auth.UnauthenticatedError{Challenge: challenge, Reason: "no token in the header X-Auth-Token, nor in Authorization: Bearer"}},
		{"empty", h{"X-Auth-Token": {" "}}, "", &auth.UnauthenticatedError{Challenge: challenge, Reason: "no token in the header X-Auth-Token, nor in Authorization: Bearer"}},
		{"both, different", h{"X-Auth-Token": {"abc"}, "Authorization": {"Bearer abd"}}, "",
			&auth.UnauthenticatedError{Challenge: invalid, Reason: "the headers X-Auth-Token and Authorization have different tokens"}},
		{"two values", h{"X-Auth-Token": {"abc", "abc"}}, "",
			&auth.UnauthenticatedError{Challenge: invalid, Reason: "the header X-Auth-Token was sent 2 times, want once"}},
		{"two bearer tokens", h{"Authorization": {"Bearer abc", "Bearer abc"}}, "",
			&auth.UnauthenticatedError{Challenge: invalid, Reason: "the header Authorization was sent 2 times, want once"}},
		{"another scheme beside a token", h{"X-Auth-Token": {"abc"}, "Authorization": {"Basic YTpi"}}, "",
			&auth.UnauthenticatedError{Challenge: invalid, Reason: "the header Authorization has another scheme than Bearer"}},
		{"no token after the scheme", h{"Authorization": {"Bearer "}}, "",
			&auth.UnauthenticatedError{Challenge: invalid, Reason: "the header Authorization has no token after Bearer"}},
		{"a blank in the token", h{"Authorization": {"Bearer a b"}}, "",
			&auth.UnauthenticatedError{Challenge: invalid, Reason: "the header Authorization contains characters that are invalid in tokens"}},
		{"a long token", h{"X-Auth-Token": {strings.Repeat("a", 8193)}}, "",
			&auth.UnauthenticatedError{Challenge: invalid, Reason: "the header X-Auth-Token has 8193 bytes, more than any token"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{Header: c.headers.Clone()}
			got, err := auth.Token(r)
			var want error
			if c.err != nil {
				want = c.err
			}
			if got != c.want || !reflect.DeepEqual(err, want) {
				t.Errorf("Token = %q, %#v; want %q, %#v", got, err, c.want, want)
			}
			if len(r.Header) != 0 {
				t.Errorf("the headers %v remain", r.Header)
			}
		})
	}
}

func TestAuth_ImpliedRoles_FollowKeystone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want []string }{
		{nil, nil},
		{[]string{"service"}, []string{"service"}},
		{[]string{"reader"}, []string{"reader"}},
		{[]string{"member", "x"}, []string{"member", "x", "reader"}},
		{[]string{"manager"}, []string{"manager", "member", "reader"}},
		{[]string{"Admin", "READER"}, []string{"Admin", "READER", "manager", "member"}},
	} {
		given := slices.Clone(c.given)
		if got := auth.Implied(given); !slices.Equal(got, c.want) || !slices.Equal(given, c.given) {
			t.Errorf("Implied(%v) = %v, want %v; the argument is now %v", c.given, got, c.want, given)
		}
	}
}

// FuzzToken checks that a token comes from one header without blanks, and that no header with a token remains.
func FuzzToken(f *testing.F) {
	f.Add("abc", "Bearer abc", true, true)
	f.Add("", "bearer\tabc", false, true)
	f.Fuzz(func(t *testing.T, plain, bearer string, sendPlain, sendBearer bool) {
		r := &http.Request{Header: http.Header{}}
		if sendPlain {
			r.Header["X-Auth-Token"] = []string{plain}
		}
		if sendBearer {
			r.Header["Authorization"] = []string{bearer}
		}
		got, err := auth.Token(r)
		if (got == "") == (err == nil) || strings.ContainsAny(got, " \t\r\n\x00") || len(got) > auth.MaxToken {
			t.Errorf("Token = %q, %v", got, err)
		}
		if got != "" && !(sendPlain && strings.Contains(plain, got)) && !(sendBearer && strings.Contains(bearer, got)) {
			t.Errorf("Token = %q, which was not sent", got)
		}
		if len(r.Header) != 0 {
			t.Errorf("the headers %v remain", r.Header)
		}
	})
}
