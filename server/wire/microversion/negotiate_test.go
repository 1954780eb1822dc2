package microversion_test

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/server/wire/microversion"
)

func TestMicroversion_SupportedRequest_Granted(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		header string
		want   microversion.Version
	}{
		{"no header means 1.0", "", microversion.V(0)},
		{"another service means 1.0", "compute 2.90", microversion.V(0)},
		{"a service without version means 1.0", "placement", microversion.V(0)},
		{"the oldest version", "placement 1.0", microversion.V(0)},
		{"a version in between", "placement 1.7", microversion.V(7)},
		{"a version of two digits", "placement 1.10", microversion.V(10)},
		{"the newest version", "placement 1.39", microversion.V(39)},
		{"latest is the newest", "placement latest", microversion.V(39)},
		{"the service name ignores case", "PLACEMENT 1.7", microversion.V(7)},
		{"the last entry wins", "placement pony, placement 1.7", microversion.V(7)},
		{"an extension beside it is ignored", "placement 1.39, berth 1.0", microversion.V(39)},
		{"a leading zero in the minor number", "placement 1.07", microversion.V(7)},
		{"a leading zero in the major number", "placement 01.5", microversion.V(5)},
		{"many leading zeros", "placement 1.00000000000000000000000000007", microversion.V(7)},
		{"a space after the point", "placement 1. 5", microversion.V(5)},
		{"a space before the point", "placement 1 .5", microversion.V(5)},
		{"an underscore between digits", "placement 1.0_5", microversion.V(5)},
		{"an underscore in the major number", "placement 0_1.5", microversion.V(5)},
		{"a plus sign", "placement +1.+5", microversion.V(5)},
		{"a negative zero", "placement 1.-0", microversion.V(0)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := microversion.Negotiate(microversion.Parse([]string{c.header}))
			if got != c.want || err != nil {
				t.Errorf("%q: got %v, %v; want %v, nil", c.header, got, err, c.want)
			}
		})
	}
}

func TestMicroversion_EveryVersion_Granted(t *testing.T) {
	t.Parallel()
	all := microversion.All()
	if len(all) != 40 {
		t.Fatalf("there are %d versions, want 40", len(all))
	}
	for minor, want := range all {
		got, err := microversion.Negotiate(microversion.Parse([]string{want.HeaderValue()}))
		if got != want || err != nil || int(got) != minor {
			t.Errorf("%q: got %v, %v", want.HeaderValue(), got, err)
		}
	}
}

func TestMicroversion_InvalidOrUnsupported_Rejected(t *testing.T) {
	t.Parallel()
	malformed := []string{
		"pony", "pony.horse", "1", "1.", ".5", ".", "1.2.3", "1.5 foo", "LATEST", "Latest", "latest foo",
		"1._5", "1.5_", "1.1__0", "_1.5", "1.0x5", "1.5e0", "1.--5", "1.+ 5", "1.-", "v1.5", "1.5.", "１.５", "1.٥",
		"1.\u00a05", "\xff.5",
	}
	unsupported := []string{
		"0.9", "0.5", "1.40", "1.1_0_0", "2.0", "2.7", "-1.5", "1.-5", "00.5", "256.5",
		"1.256", "1.295", "1.99999999999999999999999999999999999999", "99999999999999999999999999.1",
	}
	for _, text := range malformed {
		t.Run("malformed "+text, func(t *testing.T) {
			t.Parallel()
			wantRefusal(t, text, &microversion.MalformedError{Text: text})
		})
	}
	for _, text := range unsupported {
		t.Run("unsupported "+text, func(t *testing.T) {
			t.Parallel()
			wantRefusal(t, text, &microversion.UnsupportedError{Text: text})
		})
	}
}

func wantRefusal(t *testing.T, text string, want error) {
	t.Helper()
	got, err := microversion.Negotiate(microversion.Parse([]string{"placement " + text}))
	if got != microversion.Min || !reflect.DeepEqual(err, want) {
		t.Errorf("%q: got %v, %#v; want %v, %#v", text, got, err, microversion.Min, want)
	}
}

func TestMicroversion_Errors_MatchContractPhrases(t *testing.T) {
	t.Parallel()
	malformed := &microversion.MalformedError{Text: "pony"}
	unsupported := &microversion.UnsupportedError{Text: "1.40"}
	cases := []struct{ name, got, want string }{
		{"malformed", malformed.Error(), "invalid version string: pony"},
		{"malformed detail", malformed.Detail(),
			"Invalid microversion: invalid version string: pony; expected two numbers such as 1.39, or latest"},
		{"unsupported", unsupported.Error(), "Unacceptable version header: 1.40"},
		{"unsupported detail", unsupported.Detail(), "Invalid microversion: Unacceptable version header: 1.40"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.got != c.want {
				t.Errorf("got %q, want %q", c.got, c.want)
			}
		})
	}
}

// wellFormed defines the grammar a second time, as an expression, so that the fuzz test compares the parser with an
// independent definition.
var wellFormed = regexp.MustCompile(`^[\s\v]*[+-]?[0-9]+(_[0-9]+)*[\s\v]*\.[\s\v]*[+-]?[0-9]+(_[0-9]+)*[\s\v]*$`)

func FuzzNegotiate(f *testing.F) {
	for _, seed := range []string{
		"", "placement 1.7", "placement latest", "placement", "compute 2.1, placement 1.39", "placement 1.07",
		"placement 1. 5", "placement 1.0_5", "placement 1__0.5", "placement -1.5", "placement 1.99999999999999999999",
		"placement pony", "PLACEMENT\t1.2.3", ",,placement 1.1,placement ,", "placement \xff.\xfe", "placement １.５",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		requested := microversion.Parse([]string{header})
		text, named := requested.Version(microversion.Service)
		if named && (text == "" || strings.Trim(text, " \t\n\v\f\r") != text || strings.Contains(text, ",")) {
			t.Fatalf("%q: version text %q is not trimmed", header, text)
		}
		got, err := microversion.Negotiate(requested)
		var malformed *microversion.MalformedError
		var unsupported *microversion.UnsupportedError
		switch {
		case err == nil:
			if got > microversion.Max || !named && got != microversion.Min {
				t.Fatalf("%q: got %v", header, got)
			}
			again, err := microversion.Negotiate(microversion.Parse([]string{got.HeaderValue()}))
			if again != got || err != nil {
				t.Fatalf("%q: %v does not negotiate to itself: %v, %v", header, got, again, err)
			}
			if named && text != microversion.Latest && !wellFormed.MatchString(text) {
				t.Fatalf("%q: accepted as %v", header, got)
			}
		case errors.As(err, &malformed):
			if !named || malformed.Text != text || wellFormed.MatchString(text) {
				t.Fatalf("%q: rejected with %v", header, err)
			}
		case errors.As(err, &unsupported):
			if !named || unsupported.Text != text || !wellFormed.MatchString(text) {
				t.Fatalf("%q: rejected with %v", header, err)
			}
		default:
			t.Fatalf("%q: unexpected type of error: %v", header, err)
		}
		split := strings.SplitN(header, ",", 2)
		if joined, err2 := microversion.Negotiate(microversion.Parse(split)); joined != got || !reflect.DeepEqual(err, err2) {
			t.Fatalf("%q: as two headers it means %v, %v instead of %v, %v", header, joined, err2, got, err)
		}
	})
}
