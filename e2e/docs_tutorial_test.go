package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// openStackWord matches words that only readers who know OpenStack understand.
var openStackWord = regexp.MustCompile(
	`(?i)\b(?:openstack|placement|nova|nova-compute|keystone|neutron|cyborg|ironic|bare ?metal|flavors?|microversions?|instances?|oslo|noauth2)\b`)

// TestDocs_GPUTutorial_HasNoOpenStackWordsBeforeLastSection: the page is for readers who do not know OpenStack. Its last
// section is for those who do.
func TestDocs_GPUTutorial_HasNoOpenStackWordsBeforeLastSection(t *testing.T) {
	t.Parallel()
	const page = "../docs/tutorial-gpu-hosts.md"
	text, last, found := strings.Cut(readText(t, page), "\n## If you use OpenStack\n")
	if !found || strings.Contains(last, "\n## ") {
		t.Fatalf("%s: the last section is not 'If you use OpenStack'", page)
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if words := openStackWord.FindAllString(line, -1); words != nil {
			t.Errorf("%s:%d: %q in %s", page, number, words, line)
		}
	}
}
