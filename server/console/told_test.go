package console_test

import (
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	anyWord = regexp.MustCompile(`[A-Za-z0-9_.-]+`)
	anyUUID = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	// cutUUID is a UUID of which a page shows the first characters.
	cutUUID = regexp.MustCompile(`\b([0-9a-f]{8})…`)
)

// absent returns the names and the UUIDs of a page that none of the sources has, in order.
func absent(page string, names map[string]bool, sources ...string) []string {
	told, found := strings.Join(sources, "\n"), map[string]bool{}
	words := map[string]bool{}
	for _, word := range anyWord.FindAllString(told, -1) {
		words[word] = true
	}
	page = html.UnescapeString(page)
	for _, word := range anyWord.FindAllString(page, -1) {
		if names[word] && !words[word] {
			found[word] = true
		}
	}
	for _, id := range anyUUID.FindAllString(page, -1) {
		if !strings.Contains(told, id) {
			found[id] = true
		}
	}
	for _, id := range cutUUID.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(told, id[1]+"-") {
			found[id[0]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// named is a name in a response of the API. Names without small letters are those of the standard, which forms suggest.
var named = regexp.MustCompile(`"(?:name|project_id|user_id|resource_class)": ?"([^"]*[a-z][^"]*)"|"(CUSTOM_\w+)"`)

// names returns the names of the sample data.
func (s *site) names(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for target, version := range map[string]string{
		"/resource_providers": "placement 1.39", "/consumers?limit=1000": "placement 1.39, berth 1.4", "/traits": "placement 1.39",
		"/resource_classes": "placement 1.39", "/v1/nodes": "baremetal 1.82", "/v1/allocations": "baremetal 1.82",
	} {
		status, body := s.repeat(t, call{method: http.MethodGet, target: target, headers: http.Header{"Openstack-Api-Version": {version}}}, "admin", "admin,service")
		if status != http.StatusOK {
			t.Fatalf("%s: status = %d", target, status)
		}
		for _, name := range named.FindAllStringSubmatch(body, -1) {
			found[name[1]+name[2]] = true
		}
	}
	return found
}

var (
	// sumRow is a row of a table of sums, with the end of the address of what it is of; sumCell is a cell with amounts.
	sumRow  = regexp.MustCompile(`(?s)<tr><th scope="row"><a href="[^"]*/(\S+)">[^\n]*?data-label="Used, reserved, free".*?</tr>`)
	sumCell = regexp.MustCompile(`(?s)data-label="(?:Used|Free|Largest piece)">(.*?)</td>`)
	// figure is an amount. With decimals or a unit it is rounded.
	figure = regexp.MustCompile(`(?:^|\s)(\d[\d,]*)(\.\d+)?( %| [A-Z]iB)?`)
	value  = regexp.MustCompile(`: ?(\d+)(?:\.0)?\b`)
)

// absentSums returns the amounts in the sums of a page that the sums of the API of the same class, aggregate or tree do not
// have, and the number of amounts that it compared.
func absentSums(page string, sources ...string) (missing []string, compared int) {
	var told []json.RawMessage
	for _, source := range sources {
		var list struct{ Capacity []json.RawMessage }
		_ = json.Unmarshal([]byte(source), &list) // others are not sums
		told = append(told, list.Capacity...)
	}
	for _, row := range sumRow.FindAllStringSubmatch(page, -1) {
		values := map[string]bool{}
		for _, sum := range told {
			if strings.Contains(string(sum), strconv.Quote(row[1])) {
				for _, found := range value.FindAllStringSubmatch(string(sum), -1) {
					values[found[1]] = true
				}
			}
		}
		for _, cell := range sumCell.FindAllStringSubmatch(row[0], -1) {
			for _, found := range figure.FindAllStringSubmatch(text(cell[1]), -1) {
				if found[2]+found[3] != "" {
					continue
				}
				compared++
				if amount := strings.ReplaceAll(found[1], ",", ""); !values[amount] {
					missing = append(missing, row[1]+": "+amount)
				}
			}
		}
	}
	return missing, compared
}
