package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthd/berth/openapi"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/scenario"
)

func TestTheDocumentsCheckedInAreThoseOfTheRouteTable(t *testing.T) {
	t.Parallel()
	first, second := server.Table(server.Options{}), server.Table(server.Options{})
	for _, version := range microversion.All() {
		generated, err := first.Document(version)
		if err != nil {
			t.Fatal(err)
		}
		again, err := second.Document(version)
		if err != nil || !bytes.Equal(generated, again) {
			t.Errorf("the document of %s differs from one time to the next: %v", version, err)
		}
		if checkedIn, ok := openapi.Placement.Document(version.String()); !ok || !bytes.Equal(generated, checkedIn) {
			t.Errorf("openapi/placement/%s.json is not what the route table says; run 'make generate'", version)
		}
	}
}

// documented is what a document says of answers.
type documented struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Responses   map[string]struct {
			Codes []string `json:"x-error-codes"`
		} `json:"responses"`
	} `json:"paths"`
}

func TestTheDocumentsTellEveryAnswerThatTheAPIPromises(t *testing.T) {
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
	for _, version := range microversion.All() {
		raw, _ := openapi.Placement.Document(version.String())
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
		t.Errorf("only %d promises were looked at", looked)
	}
}

// check tells how many promises it looked at: one, or none where the document has
// no such operation, which is then answered with 404 or 405.
func (d *documented) check(t *testing.T, version microversion.Version, request string, row scenario.Promise) int {
	t.Helper()
	method, target, _ := strings.Cut(request, " ")
	path, _, _ := strings.Cut(target, "?")
	op, ok := d.Paths[path][strings.ToLower(method)]
	if !ok || row.Status == 405 {
		return 0
	}
	answer, ok := op.Responses[fmt.Sprint(row.Status)]
	if !ok {
		t.Errorf("%s %s: the document does not tell of status %d", version, op.OperationID, row.Status)
		return 1
	}
	if row.Code != "" && len(answer.Codes) > 0 && !slices.Contains(answer.Codes, row.Code) {
		t.Errorf("%s %s: the document does not tell of the code %s of status %d", version, op.OperationID, row.Code, row.Status)
	}
	return 1
}

// covers reads the versions of a promise: "1.4", "1.4-1.9", "1.4+". What holds at
// any version, or where none is known, holds at each.
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
