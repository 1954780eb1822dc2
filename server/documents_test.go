package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/scenario"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/microversion"
)

// documented is the part of a document about responses.
type documented struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Responses   map[string]struct {
			Codes []string `json:"x-error-codes"`
		} `json:"responses"`
	} `json:"paths"`
}

func TestOpenAPI_PlacementDocuments_CoverContract(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("placement/testdata/contract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	promises, err := scenario.ParsePromises(text)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	table := server.Table(server.Options{})
	for _, version := range microversion.All() {
		raw, err := table.Document(version)
		if err != nil {
			t.Fatal(err)
		}
		var document documented
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatal(err)
		}
		for _, group := range promises.Groups {
			for _, row := range group.Rows {
				if covers(row.Versions, int(version)) {
					looked += document.check(t, version, group.Request, row)
				}
			}
		}
	}
	if looked < 1000 {
		t.Errorf("only %d expectations were checked", looked)
	}
}

// check returns the number of checked expectations: one, or none if the document has no such operation,
// which then responds 404 or 405.
func (d *documented) check(t *testing.T, version microversion.Version, request string, row scenario.Expectation) int {
	t.Helper()
	method, target, _ := strings.Cut(request, " ")
	path, _, _ := strings.Cut(target, "?")
	op, ok := d.Paths[path][strings.ToLower(method)]
	if !ok || row.Status == 405 {
		return 0
	}
	answer, ok := op.Responses[fmt.Sprint(row.Status)]
	if !ok {
		t.Errorf("%s %s: the document has no status %d", version, op.OperationID, row.Status)
		return 1
	}
	if row.Code != "" && len(answer.Codes) > 0 && !slices.Contains(answer.Codes, row.Code) {
		t.Errorf("%s %s: the document has no code %s of status %d", version, op.OperationID, row.Code, row.Status)
	}
	return 1
}

// covers parses the versions of an expectation: "1.4", "1.4-1.9", "1.4+". It returns true for texts that
// mean any or an unknown version.
func covers(versions string, minor int) bool {
	if versions == "any" || versions == "none" {
		return true
	}
	number := func(text string) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(text, "1."))
		return n
	}
	if since, ok := strings.CutSuffix(versions, "+"); ok {
		return number(since) <= minor
	}
	from, to, isRange := strings.Cut(versions, "-")
	if !isRange {
		to = from
	}
	return number(from) <= minor && minor <= number(to)
}
