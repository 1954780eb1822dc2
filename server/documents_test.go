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
	"github.com/berthd/berth/server/wire/microversion"
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
	text, err := os.ReadFile("api/placement/testdata/contract.yaml")
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

func TestOpenAPI_Parameter30_ServesOpenAPI30(t *testing.T) {
	t.Parallel()
	s := newService(t, "/placement")
	for _, path := range []string{"1.39", "latest", "baremetal/1.82", "berth/placement-latest", "berth/baremetal-latest"} {
		for parameter, want := range map[string]string{"": "3.1.0", "?openapi=3.1": "3.1.0", "?openapi=3.0": "3.0.3"} {
			answer := s.get("/placement/openapi/" + path + ".json" + parameter)
			var document struct {
				OpenAPI string
				Servers []struct{ URL string }
			}
			if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil || document.OpenAPI != want {
				t.Errorf("%s%s: %v: openapi = %s, want %s", path, parameter, err, document.OpenAPI, want)
			}
			if len(document.Servers) != 1 || document.Servers[0].URL != "/placement" {
				t.Errorf("%s%s: servers = %v", path, parameter, document.Servers)
			}
		}
	}
	if answer := s.get("/placement/openapi/1.39.json?openapi=2.0"); answer.Code != 400 || !strings.Contains(answer.Body.String(), "3.0 or 3.1") {
		t.Errorf("status %d: %s", answer.Code, answer.Body)
	}
}
