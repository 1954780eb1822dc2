package apicommand

import (
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
)

// FuzzWords checks that the parsers of arguments and flags do not panic, and that their errors have
// a text.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{
		"_NET:resources=SRIOV_NET_VF:1;required=CUSTOM_PHYSNET_A", "_A:in_tree=x;;", ":=", "VCPU=8", "VCPU:total=8,reserved=1",
		"VCPU=1,VCPU=2", "VCPU=99999999999999999999", "VCPU:allocation_ratio=NaN", "=\x00", "4e8e5957-649f-477b-9e5b-f1f75b21c03c",
	} {
		f.Add(seed)
	}
	names := aggregateNames{&frame.Frame{}}
	f.Fuzz(func(t *testing.T, text string) {
		_, group := parseGroup(text, names)
		_, edit := parseInventoryEdit(text)
		_, edits := parseInventoryEdits([]string{text, text})
		_, resources := parseResources("resources", text)
		_, consumer := parseConsumer(text)
		_, aggregate := names.parse(text)
		for _, err := range []error{group, edit, edits, resources, consumer, aggregate} {
			if err != nil && err.Error() == "" {
				t.Errorf("%q: the error has no text", text)
			}
		}
	})
}
