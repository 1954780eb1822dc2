package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berthd/berth/server/observe/auditlog"
)

func TestAuditLog_DryRun_HasLineOfWriteWithMark(t *testing.T) {
	t.Parallel()
	a := newAudited(t, "", true)
	send := func(method, path, body string) int {
		return a.ask(method, path, strings.NewReader(body), "OpenStack-API-Version", "placement 1.39, berth 1.3").Code
	}
	for _, test := range []struct {
		method, path, body string
		status             int
		outcome, code      string
	}{
		{http.MethodPut, "/traits/CUSTOM_A", "", http.StatusCreated, auditlog.Success, ""},
		{http.MethodDelete, "/traits/CUSTOM_A", "", http.StatusNotFound, auditlog.NotFound, ""},
		{
			http.MethodDelete, "/resource_providers/" + secondProvider, "", http.StatusNotFound, auditlog.NotFound, "",
		},
		{
			http.MethodPost, "/resource_classes", `{"name": "VCPU"}`, http.StatusBadRequest, auditlog.Invalid, "",
		},
	} {
		before := len(a.audit())
		send(test.method, test.path+"?dry_run=true", test.body)
		lines := a.audit()[before:]
		if len(lines) == 0 || len(lines) > 2 {
			t.Fatalf("%s %s: lines = %+v", test.method, test.path, lines)
		}
		end := lines[len(lines)-1]
		if end.Status != test.status || end.Outcome != test.outcome || end.Phase != auditlog.PhaseEnd || end.Location != "" {
			t.Errorf("%s %s: line = %+v", test.method, test.path, end)
		}
		for _, line := range lines {
			if !line.DryRun {
				t.Errorf("%s %s: line is not marked: %+v", test.method, test.path, line)
			}
		}
	}
	before := len(a.audit())
	send(http.MethodPut, "/traits/CUSTOM_A", "")
	for _, line := range a.audit()[before:] {
		if line.DryRun {
			t.Errorf("write: line = %+v", line)
		}
	}
	if page := a.ask(http.MethodGet, "/metrics", http.NoBody).Body.String(); !strings.Contains(page, "\nberth_dry_runs_total 3\n") {
		t.Errorf("the metric of dry runs is missing or wrong: %s", page[strings.Index(page, "berth_dry_runs"):][:200])
	}
}
