package microversion_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/berthd/berth/server/wire/microversion"
)

func TestMicroversion_ExtensionHeader_Negotiated(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]struct {
		extension microversion.Extension
		selected  bool
	}{
		"":                                 {0, false},
		"baremetal 1.82":                   {0, false},
		"berth":                            {0, false},
		"berth ,placement 1.39":            {0, false},
		"baremetal 1.82, berth 1.0":        {0, true},
		"placement 1.39, berth 1.1":        {1, true},
		"berth 1.1, berth 1.0, berth":      {0, true},
		"BERTH 1.1":                        {1, true},
		"Berth latest,baremetal 1.82":      {microversion.ExtensionMax, true},
		"placement 1.39,berth \t LaTeSt  ": {microversion.ExtensionMax, true},
	} {
		extension, selected, err := microversion.NegotiateExtension(microversion.Parse([]string{header}))
		if extension != want.extension || selected != want.selected || err != nil {
			t.Errorf("%q: %s, %v, %v, want %+v", header, extension, selected, err, want)
		}
	}
}

func TestMicroversion_ExtensionUnsupported_Rejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"1.9", "1.99", "1.00", "1.01", "01.1", "+1.1", "1.+1", "1. 1", "1.1.0", "1.", ".1", "1", "2.1", "0.1", "-1.1", "1.-1", "1_0.1",
		"pony", "newest", "latest 1.1", "1.1 1.1", "1.257", "1.99999999999999999999", "１.1", "<b>",
	} {
		extension, selected, err := microversion.NegotiateExtension(microversion.Parse([]string{"placement 1.39, berth " + text}))
		var refused *microversion.ExtensionError
		if extension != 0 || selected || !errors.As(err, &refused) || refused.Text != text {
			t.Errorf("%q: %s, %v, %v", text, extension, selected, err)
		}
	}
	want := "Version 1.9 of berth was requested but is not supported by this service, which has 1.0 to " +
		microversion.ExtensionMax.String() + "."
	if got := (&microversion.ExtensionError{Text: "1.9"}).Error(); got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
}

func TestMicroversion_ExtensionWithPlacement_NeedsNewest(t *testing.T) {
	t.Parallel()
	const text = `Version 1.1 of berth needs version 1.39 of placement in the same header, such as "placement 1.39, berth 1.1". Got: `
	for header, want := range map[string]struct {
		version microversion.Version
		text    string
	}{
		"":                            {microversion.Min, ""},
		"berth 1.0":                   {microversion.Min, ""},
		"placement 1.7, berth 1.0":    {microversion.V(7), ""},
		"placement 1.39, berth 1.0":   {microversion.Max, ""},
		"placement 1.39":              {microversion.Max, ""},
		"placement 1.39, berth 1.1":   {microversion.Berth(1), ""},
		"placement latest, berth 1.1": {microversion.Berth(1), ""},
		"berth latest,placement 1.39": {microversion.Berth(uint8(microversion.ExtensionMax)), ""},
		"placement 1.36, berth 1.1":   {microversion.V(36), text + "placement 1.36."},
		"placement 1.036, berth 1.1":  {microversion.V(36), text + "placement 1.36."},
		"placement 1.0,berth 1.1":     {microversion.Min, text + "placement 1.0."},
		"berth 1.1":                   {microversion.Min, text + "no version of placement, which means 1.0."},
		"placement, berth 1.1":        {microversion.Min, text + "no version of placement, which means 1.0."},
		"baremetal 1.82, berth 1.1":   {microversion.Min, text + "no version of placement, which means 1.0."},
	} {
		requested := microversion.Parse([]string{header})
		version, err := microversion.Negotiate(requested)
		if err != nil {
			t.Fatal(err)
		}
		extension, _, err := microversion.NegotiateExtension(requested)
		if err != nil {
			t.Fatal(err)
		}
		version, err = microversion.Extend(requested, version, extension)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if version != want.version || got != want.text {
			t.Errorf("%q: %s, %q, want %s, %q", header, version.Label(), got, want.version.Label(), want.text)
		}
	}
}

func TestMicroversion_ExtendedVersions_FollowNewestInOneLine(t *testing.T) {
	t.Parallel()
	line := slices.Concat(microversion.All(), microversion.Extended())
	if !slices.IsSorted(line) || len(line) != 40+int(microversion.ExtensionMax) {
		t.Errorf("versions = %v", line)
	}
	for _, version := range microversion.All() {
		if version.Extension() != 0 || version.Label() != version.String() {
			t.Errorf("%s: extension %s, label %q", version, version.Extension(), version.Label())
		}
	}
	first := microversion.Berth(1)
	if first.String() != "1.39" || first.Label() != "1.39, berth 1.1" || first.HeaderValue() != "placement 1.39, berth 1.1" ||
		first.Extension() != 1 || !first.HasErrorCode() || !first.HasAnyOfTraits() {
		t.Errorf("got %s, %q, %q, %s", first, first.Label(), first.HeaderValue(), first.Extension())
	}
	header := http.Header{}
	first.SetHeaders(header)
	first.Extension().AddHeader(header)
	if got := header.Values(microversion.Header); !slices.Equal(got, []string{"placement 1.39", "berth 1.1"}) {
		t.Errorf("headers = %q", got)
	}
	microversion.Max.SetHeaders(header)
	microversion.ExtensionMin.AddHeader(header)
	if got := header.Values(microversion.Header); !slices.Equal(got, []string{"placement 1.39"}) {
		t.Errorf("headers = %q", got)
	}
}

// supportedExtension defines the supported versions a second time, as an expression. There are up to ten.
var supportedExtension = regexp.MustCompile(fmt.Sprintf(`^(?:1\.[0-%d]|(?i:latest))$`, microversion.ExtensionMax))

// FuzzNegotiateExtension checks that every header either selects a supported version or has an error, and that the
// version that it means negotiates to itself.
func FuzzNegotiateExtension(f *testing.F) {
	for _, seed := range []string{
		"", "berth 1.0", "placement 1.39, berth 1.1", "BERTH Latest", "berth", "berth 1.1,berth ,", "berth 1.01", "berth 1.1 1.1",
		"placement 1.36, berth 1.1", "berth 1.1, berth pony", "berth\t1.1", "berth 1.257", "berth \xff", "berth 1.１", "berth lateſt",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		requested := microversion.Parse([]string{header})
		text, named := requested.Version(microversion.ExtensionService)
		extension, selected, err := microversion.NegotiateExtension(requested)
		if supported := supportedExtension.MatchString(text); selected != supported || (err != nil) != (named && !supported) {
			t.Fatalf("%q: selected = %v, error %v", header, selected, err)
		}
		if extension > microversion.ExtensionMax || !selected && extension != 0 {
			t.Fatalf("%q: means %d", header, extension)
		}
		version, invalid := microversion.Negotiate(requested)
		if err != nil || invalid != nil {
			return
		}
		extended, err := microversion.Extend(requested, version, extension)
		if fits := extension == 0 || version == microversion.Max; (err == nil) != fits || extended.String() != version.String() {
			t.Fatalf("%q: %s, %v", header, extended.Label(), err)
		}
		again := microversion.Parse([]string{extended.HeaderValue()})
		if found, _, err := microversion.NegotiateExtension(again); found != extended.Extension() || err != nil {
			t.Fatalf("%q: %q does not negotiate to itself: %s, %v", header, extended.HeaderValue(), found, err)
		}
	})
}
