package server_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/observe/auditlog"
)

// audited is a server with an audit log.
type audited struct {
	*watched
	log  *auditlog.Log
	path string
}

// newAudited returns a server whose audit log is at path, or in a directory of its own if path is empty.
func newAudited(t *testing.T, path string, required bool, change ...func(*server.Options)) *audited {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "audit.log")
	}
	log, err := auditlog.Open(auditlog.Options{Path: path, Required: required, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close(t.Context()) })
	return &audited{log: log, path: path, watched: newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.AuditLog = log
		for _, add := range change {
			add(options)
		}
	})}
}

// audit returns all lines so far, parsed.
func (a *audited) audit() (found []auditlog.Record) {
	a.t.Helper()
	text, err := os.ReadFile(a.path)
	if err != nil {
		a.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var record auditlog.Record
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			a.t.Fatalf("line %.200q: %v", line, err)
		}
		if len(line) > auditlog.MaxLine {
			a.t.Errorf("a line has %d bytes, want at most %d", len(line), auditlog.MaxLine)
		}
		found = append(found, record)
	}
	return found
}

// last returns the only line after the first before lines.
func (a *audited) last(before int) auditlog.Record {
	a.t.Helper()
	all := a.audit()
	if len(all) != before+1 {
		a.t.Fatalf("%d lines were written, want 1: %+v", len(all)-before, all[before:])
	}
	return all[before]
}

// generations reads the generations of all providers and consumers.
func (a *audited) generations() map[uuid.UUID]int64 {
	a.t.Helper()
	rows, err := a.db.Pool.Query(a.t.Context(), `
		SELECT provider.uuid, held.generation FROM resource_providers AS provider
		JOIN provider_generations AS held ON held.provider_id = provider.id
		UNION ALL SELECT uuid, generation FROM consumers`)
	if err != nil {
		a.t.Fatal(err)
	}
	found := map[uuid.UUID]int64{}
	for rows.Next() {
		var id uuid.UUID
		var generation int64
		if err := rows.Scan(&id, &generation); err != nil {
			a.t.Fatal(err)
		}
		found[id] = generation
	}
	if rows.Err() != nil {
		a.t.Fatal(rows.Err())
	}
	return found
}

func generation(of *int64) string {
	if of == nil {
		return "none"
	}
	return fmt.Sprint(*of)
}

// agrees compares the generations in a line with those in the database before and after the write.
func agrees(t *testing.T, step string, list []auditlog.Generation, before, after map[uuid.UUID]int64) (said []string) {
	t.Helper()
	for _, one := range list {
		was, existed := before[one.UUID]
		is, exists := after[one.UUID]
		if one.Before != nil && (!existed || *one.Before != was) || one.After != nil && (!exists || *one.After != is) ||
			one.Removed == exists || one.Sent != nil {
			t.Errorf("%s: line has %+v, the database had %d (%t) and has %d (%t)", step, one, was, existed, is, exists)
		}
		said = append(said, generation(one.Before)+">"+generation(one.After))
	}
	return said
}

const secondProvider = "10000000-0000-4000-8000-000000000002"

// auditedWrites lists requests with which every write operation of both APIs succeeds, and the generations
// of providers and consumers in their lines.
var auditedWrites = []struct {
	operation, method, path, body, generations string
	// sql is a statement to run before the request, for state changes that a conductor makes.
	sql string
	// version is the microversion of Placement, with a version of the extensions; 1.39 if empty.
	version string
}{
	{operation: "resource-class-create", method: "POST", path: "/resource_classes", body: `{"name": "CUSTOM_A"}`},
	{operation: "resource-class-ensure", method: "PUT", path: "/resource_classes/CUSTOM_B"},
	{operation: "resource-class-rename", method: "PUT", path: "/resource_classes/CUSTOM_A", body: `{"name": "CUSTOM_C"}`,
		version: "1.6"},
	{operation: "resource-class-delete", method: "DELETE", path: "/resource_classes/CUSTOM_B"},
	{operation: "trait-ensure", method: "PUT", path: "/traits/CUSTOM_T"},
	{operation: "provider-create", method: "POST", path: "/resource_providers", body: `{"name": "host", "uuid": "` + aProvider + `"}`,
		generations: "none>0"},
	{operation: "provider-create", method: "POST", path: "/resource_providers", body: `{"name": "second", "uuid": "` + secondProvider + `"}`,
		generations: "none>0"},
	{operation: "provider-update", method: "PUT", path: "/resource_providers/" + aProvider, body: `{"name": "host-1"}`, generations: "none>0"},
	{operation: "inventory-create", method: "POST", path: "/resource_providers/" + aProvider + "/inventories",
		body: `{"resource_class": "VCPU", "total": 64}`, generations: "none>1"},
	{operation: "inventory-replace", method: "PUT", path: "/resource_providers/" + aProvider + "/inventories",
		body: `{"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 1024}}}`, generations: "1>2"},
	{operation: "inventory-update", method: "PUT", path: "/resource_providers/" + aProvider + "/inventories/VCPU",
		body: `{"resource_provider_generation": 2, "total": 32}`, generations: "2>3"},
	{operation: "inventory-delete", method: "DELETE", path: "/resource_providers/" + aProvider + "/inventories/MEMORY_MB", generations: "none>4"},
	{operation: "inventory-clear", method: "DELETE", path: "/resource_providers/" + secondProvider + "/inventories", generations: "none>1"},
	{operation: "provider-trait-replace", method: "PUT", path: "/resource_providers/" + aProvider + "/traits",
		body: `{"resource_provider_generation": 4, "traits": ["CUSTOM_T"]}`, generations: "4>5"},
	{operation: "provider-trait-clear", method: "DELETE", path: "/resource_providers/" + aProvider + "/traits", generations: "none>none"},
	{operation: "trait-delete", method: "DELETE", path: "/traits/CUSTOM_T"},
	{operation: "provider-aggregate-replace", method: "PUT", path: "/resource_providers/" + aProvider + "/aggregates",
		body: `{"resource_provider_generation": 6, "aggregates": []}`, generations: "6>7"},
	{operation: "allocation-replace", method: "PUT", path: "/allocations/" + aConsumer, body: claimAt("null", "1"), generations: "none>1"},
	{operation: "allocation-replace", method: "PUT", path: "/allocations/" + aConsumer, body: claimAt("1", "2"), generations: "1>2"},
	{operation: "allocation-replace-many", method: "POST", path: "/allocations",
		body:        `{"` + aConsumer + `": ` + claimAt("2", "1") + `, "` + anotherOne + `": ` + claimAt("null", "3") + `}`,
		generations: "2>3 none>1"},
	{operation: "reshape", method: "POST", path: "/reshaper", body: `{"inventories": {"` + aProvider + `": {"resource_provider_generation": 10,
		"inventories": {"VCPU": {"total": 16}}}}, "allocations": {"` + anotherOne + `": ` + claimAt("1", "1") + `}}`, generations: "10>none 1>2"},
	{operation: "allocation-replace", method: "PUT", path: "/allocations/" + aConsumer,
		body:        `{"allocations": {}, "project_id": "p", "user_id": "u", "consumer_generation": 3, "consumer_type": "INSTANCE"}`,
		generations: "3>none"},
	{operation: "inventory-patch", method: "PATCH", path: "/resource_providers/" + secondProvider + "/inventories",
		body: `{"inventories": {"VGPU": {"total": 2}}}`, generations: "none>2", version: "1.39, berth 1.3"},
	{operation: "provider-trait-patch", method: "PATCH", path: "/resource_providers/" + secondProvider + "/traits",
		body: `{"traits": {"HW_CPU_X86_AVX2": true}, "resource_provider_generation": 2}`, generations: "2>3", version: "1.39, berth 1.3"},
	{operation: "provider-aggregate-patch", method: "PATCH", path: "/resource_providers/" + secondProvider + "/aggregates",
		body: `{"aggregates": {"` + aConsumer + `": true}}`, generations: "none>4", version: "1.39, berth 1.3"},
	{operation: "allocation-patch", method: "PATCH", path: "/allocations/" + anotherOne,
		body: `{"allocations": {"` + aProvider + `": {"resources": {"VCPU": 2}}}}`, generations: "none>3", version: "1.39, berth 1.3"},
	{operation: "reshape-patch", method: "PATCH", path: "/reshaper", body: `{"inventories": {"` + secondProvider + `":
		{"resource_provider_generation": 4, "inventories": {"PCPU": {"total": 2}}}}}`, generations: "4>5", version: "1.39, berth 1.3"},
	{operation: "tree-replace", method: "PUT", path: "/resource_providers/" + secondProvider + "/tree", body: `{"resource_providers": [
		{"uuid": "` + secondProvider + `", "name": "second", "parent_provider_uuid": null, "generation": 5, "inventories": {}}]}`,
		generations: "none>6", version: "1.39, berth 1.3"},
	{operation: "allocation-delete", method: "DELETE", path: "/allocations/" + anotherOne, generations: "none>none"},
	{operation: "claim-create", method: "POST", path: "/claims", version: "1.39, berth 1.3", generations: "none>1",
		body: `{"consumers": [{"uuid": "a0000000-0000-4000-8000-0000000000c1", "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE",
			"consumer_generation": null}], "candidates": [{"allocations": {"` + aProvider + `": {"resources": {"VCPU": 1}}}}]}`},
	{operation: "lease-renew", method: "POST", path: "/leases", version: "1.39, berth 1.6",
		body: `{"consumers": ["a0000000-0000-4000-8000-0000000000c1"]}`},
	{operation: "history-settings-update", method: "PUT", path: "/history/settings", version: "1.39, berth 1.7",
		body: `{"state": "off", "keep_days": 90, "generation": 0}`},
	{operation: "provider-delete", method: "DELETE", path: "/resource_providers/" + secondProvider, generations: "none>none"},

	{operation: "node-create", method: "POST", path: "/v1/nodes", body: `{"driver": "fake-hardware", "name": "n1", "resource_class": "bm", "uuid": "` + aNode + `"}`},
	{operation: "node-update", method: "PATCH", path: "/v1/nodes/n1", body: `[{"op": "add", "path": "/extra/a", "value": 1}]`},
	{operation: "node-trait-replace", method: "PUT", path: "/v1/nodes/n1/traits", body: `{"traits": ["CUSTOM_X"]}`},
	{operation: "node-trait-add", method: "PUT", path: "/v1/nodes/n1/traits/CUSTOM_Y"},
	{operation: "node-trait-delete", method: "DELETE", path: "/v1/nodes/n1/traits/CUSTOM_Y"},
	{operation: "node-trait-clear", method: "DELETE", path: "/v1/nodes/n1/traits"},
	{operation: "port-create", method: "POST", path: "/v1/ports", body: `{"node_uuid": "` + aNode + `", "address": "52:54:00:00:00:01", "uuid": "` + aPort + `"}`},
	{operation: "port-update", method: "PATCH", path: "/v1/ports/" + aPort, body: `[{"op": "add", "path": "/extra/a", "value": 1}]`},
	{operation: "port-delete", method: "DELETE", path: "/v1/ports/" + aPort},
	{operation: "node-maintenance-set", method: "PUT", path: "/v1/nodes/n1/maintenance", body: `{"reason": "fan"}`},
	{operation: "node-maintenance-unset", method: "DELETE", path: "/v1/nodes/n1/maintenance"},
	{sql: "UPDATE nodes SET revision = revision + 1, provision_state = 'available', power_state = 'power off'"},
	{operation: "node-allocation-create", method: "POST", path: "/v1/allocations", body: `{"resource_class": "bm", "name": "a1"}`},
	{operation: "node-allocation-update", method: "PATCH", path: "/v1/allocations/a1", body: `[{"op": "add", "path": "/extra/a", "value": 1}]`},
	{sql: "UPDATE node_allocations SET state = 'error', last_error = 'x'"},
	{operation: "node-allocation-retry", method: "POST", path: "/v1/allocations/a1/retry"},
	{operation: "node-allocation-delete", method: "DELETE", path: "/v1/allocations/a1"},
	{sql: "UPDATE nodes SET revision = revision + 1, provision_state = 'active', instance_uuid = '" + aConsumer + "'"},
	{operation: "node-allocation-create", method: "POST", path: "/v1/allocations", body: `{"node": "n1", "name": "a2", "uuid": "` + aConsumer + `"}`},
	{sql: "UPDATE nodes SET revision = revision + 1, provision_state = 'available'"},
	{operation: "allocation-of-node-delete", method: "DELETE", path: "/v1/nodes/n1/allocation"},
	{operation: "node-power", method: "PUT", path: "/v1/nodes/n1/states/power", body: `{"target": "power on"}`},
	{sql: "UPDATE nodes SET revision = revision + 1, target_power_state = NULL, conductor_id = NULL"},
	{operation: "node-provision", method: "PUT", path: "/v1/nodes/n1/states/provision", body: `{"target": "manage"}`},
	{sql: "UPDATE nodes SET revision = revision + 1, provision_state = 'available', target_provision_state = NULL, conductor_id = NULL"},
	{operation: "node-delete", method: "DELETE", path: "/v1/nodes/n1"},
}

const (
	aNode = "30000000-0000-4000-8000-000000000001"
	aPort = "40000000-0000-4000-8000-000000000001"
)

// claimAt returns a claim of VCPUs by a consumer with a generation.
func claimAt(generation, amount string) string {
	return strings.Replace(claim("VCPU", amount), `"consumer_generation": null`, `"consumer_generation": `+generation, 1)
}

func TestAuditLog_EveryWriteOperation_HasOneLineWithItsGenerations(t *testing.T) {
	t.Parallel()
	a := newAudited(t, "", false)
	a.registerConductor()
	missing := map[string]bool{}
	for _, operation := range server.Operations() {
		if operation.Method != http.MethodGet && !operation.ReadOnly {
			missing[operation.ID] = true
		}
	}
	for _, step := range auditedWrites {
		if step.sql != "" {
			if _, err := a.db.Pool.Exec(t.Context(), step.sql); err != nil {
				t.Fatalf("%s: %v", step.sql, err)
			}
			continue
		}
		what, lines, before := step.method+" "+step.path, len(a.audit()), a.generations()
		answer := a.write(step.method, step.path, step.body, "X-Openstack-Request-Id", "req-"+aConsumer,
			"OpenStack-API-Version", "berth 1.0, baremetal 1.82, placement "+cmp.Or(step.version, "1.39"))
		if answer.Code >= 300 {
			t.Fatalf("%s: status = %d: %s", what, answer.Code, answer.Body)
		}
		line, after := a.last(lines), a.generations()
		delete(missing, line.Operation)
		if line.Operation != step.operation || line.Outcome != auditlog.Success || line.Status != answer.Code ||
			line.Phase != auditlog.PhaseEnd || line.Method != step.method || line.UserID != "admin" || line.AuthMethod != "noauth2" ||
			line.RequestID != answer.Header().Get("X-Openstack-Request-Id") || line.GlobalRequestID != "req-"+aConsumer {
			t.Errorf("%s: line = %+v", what, line)
		}
		said := append(agrees(t, what, line.Providers, before, after), agrees(t, what, line.Consumers, before, after)...)
		if got := strings.Join(said, " "); got != step.generations {
			t.Errorf("%s: generations = %q, want %q", what, got, step.generations)
		}
	}
	for id := range missing {
		t.Errorf("the test has no request for operation %s", id)
	}
}

func (a *audited) registerConductor() {
	a.t.Helper()
	if _, err := a.db.Pool.Exec(a.t.Context(), `INSERT INTO conductors (hostname, drivers) VALUES ('berth-1', '{fake-hardware}')`); err != nil {
		a.t.Fatal(err)
	}
}

// TestAuditLog_ReadOnlyPost_HasNoLine requires the audit log, so a write would have two lines.
func TestAuditLog_ReadOnlyPost_HasNoLine(t *testing.T) {
	t.Parallel()
	a := newAudited(t, "", true)
	for body, want := range map[string]int{
		`{"groups": {"": {"resources": {"VCPU": 1}}}}`: http.StatusOK, `{}`: http.StatusBadRequest,
	} {
		answer := a.write(http.MethodPost, "/allocation_candidates", body, "OpenStack-API-Version", "placement 1.39, berth 1.1")
		if answer.Code != want || len(a.audit()) != 0 {
			t.Errorf("%s: status = %d, want %d: %s; lines = %+v", body, answer.Code, want, answer.Body, a.audit())
		}
	}
}

func TestAuditLog_FailedWrite_HasItsOutcome(t *testing.T) {
	t.Parallel()
	a := newAudited(t, "", false)
	a.exercise()
	inventories := "/resource_providers/" + aProvider + "/inventories"
	for _, c := range []struct {
		method, path, body, header, value string
		status                            int
		outcome, code, providers          string
	}{
		{method: "PUT", path: inventories, body: `{"resource_provider_generation": 7, "inventories": {}}`,
			status: 409, outcome: auditlog.Conflict, code: "placement.concurrent_update", providers: "7"},
		{method: "PUT", path: inventories, body: `{`, status: 400, outcome: auditlog.Invalid},
		{method: "DELETE", path: inventories, header: "X-Roles", value: "reader", status: 403, outcome: auditlog.Denied},
		{method: "DELETE", path: "/resource_providers/" + anotherOne, status: 404, outcome: auditlog.NotFound, providers: "none"},
		{method: "POST", path: "/nowhere", status: 404, outcome: auditlog.NotFound},
		{method: "DELETE", path: "/traits", status: 405, outcome: auditlog.Invalid},
		{method: "POST", path: "/allocations", header: "OpenStack-API-Version", value: "placement 1.99", status: 406, outcome: auditlog.Invalid},
		{method: "PUT", path: "/v1/nodes/none/maintenance", status: 404, outcome: auditlog.NotFound},
	} {
		lines := len(a.audit())
		var headers []string
		if c.header != "" {
			headers = []string{c.header, c.value}
		}
		answer := a.write(c.method, c.path, c.body, headers...)
		line := a.last(lines)
		var sent []string
		for _, one := range line.Providers {
			sent = append(sent, generation(one.Sent))
		}
		if answer.Code != c.status || line.Status != c.status || line.Outcome != c.outcome || line.ErrorCode != c.code ||
			strings.Join(sent, " ") != c.providers {
			t.Errorf("%s %s: status = %d, line = %+v", c.method, c.path, answer.Code, line)
		}
	}
}

func TestAuditLog_OtherRequests_HaveNoLine(t *testing.T) {
	t.Parallel()
	a := newAudited(t, "", false)
	for _, send := range [][]string{
		{"GET", "/resource_providers"}, {"OPTIONS", "/resource_providers"}, {"HEAD", "/"}, {"POST", "/livez"}, {"POST", "/"},
	} {
		a.write(send[0], send[1], "")
	}
	if answer := a.send("POST", "/resource_providers"); answer.Code != http.StatusUnauthorized {
		t.Errorf("status = %d without a token", answer.Code)
	}
	if found := a.audit(); len(found) != 0 {
		t.Errorf("lines = %+v, want none", found)
	}
}

func TestAuditLog_HostileRequest_LineIsBounded(t *testing.T) {
	t.Parallel()
	a := newAudited(t, "", false)
	long := strings.Repeat("\u2028\x7f\"\\", 20000)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/resource_providers", `{"name": "` + strings.Repeat("x", 16<<20) + `"}`},
		{"PUT", "/traits/" + strings.Repeat("%00%ff%22", 20000), ""},
		{"DELETE", "/" + strings.Repeat("%01/", 20000), ""},
		{"DELETE", "/resource_providers/" + strings.Repeat("x", 200000) + "/inventories/" + strings.Repeat("y", 200000) + "?" + strings.Repeat("q", 1<<16), ""},
	} {
		lines := len(a.audit())
		a.write(c.method, c.path, c.body, "X-Auth-Token", long, "X-Roles", strings.Repeat(long+",", 20), "X-Project-Id", long,
			"X-Domain-Id", long, "OpenStack-System-Scope", long, "X-Openstack-Request-Id", long)
		if line := a.last(lines); line.Status < 400 || line.UserID == "" || line.RolesOmitted != 8 {
			t.Errorf("line = %+v", line)
		}
	}
	many := map[string]any{}
	for range 1000 {
		many[uuid.NewString()] = map[string]any{"allocations": map[string]any{aProvider: map[string]any{"resources": map[string]any{"VCPU": 1}}},
			"project_id": "p", "user_id": "u", "consumer_generation": 3, "consumer_type": "INSTANCE"}
	}
	body, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	lines := len(a.audit())
	a.write("POST", "/allocations", string(body))
	if line := a.last(lines); len(line.Consumers) != 16 || line.ConsumersOmitted != 984 {
		t.Errorf("line has %d consumers and %d omitted", len(line.Consumers), line.ConsumersOmitted)
	}
}

func TestAuditLog_DiskFull_WriteSucceeds(t *testing.T) {
	t.Parallel()
	a := newAudited(t, "/dev/full", false)
	if answer := a.write("POST", "/resource_providers", `{"name": "host"}`); answer.Code != http.StatusOK {
		t.Errorf("status = %d: %s", answer.Code, answer.Body)
	}
	families := a.metrics()
	if got := value(t, families, "berth_audit_log_lines_total", "outcome", "lost"); got != 1 {
		t.Errorf("lost = %v, want 1", got)
	}
}

func TestAuditLog_DiskFullRequired_RejectsWritesBeforeTheyRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, file := filepath.Join(dir, "audit.log"), filepath.Join(dir, "file")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	a := newAudited(t, path, true)
	a.registerConductor()
	for _, c := range [][3]string{
		{"POST", "/resource_providers", `{"name": "host"}`},
		{"POST", "/v1/nodes", `{"driver": "fake-hardware", "name": "n1"}`},
	} {
		answer := a.write(c[0], c[1], c[2])
		if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" || !strings.Contains(answer.Body.String(), "audit log") {
			t.Errorf("%s %s: status = %d: %s", c[0], c[1], answer.Code, answer.Body)
		}
	}
	if answer := a.get("/resource_providers", "X-Auth-Token", "admin"); answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), `"resource_providers": []`) {
		t.Errorf("a read: status = %d: %s", answer.Code, answer.Body)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, path); err != nil {
		t.Fatal(err)
	}
	a.log.Reopen()
	answer := a.write("POST", "/resource_providers", `{"name": "host"}`)
	found := a.audit()
	if answer.Code != http.StatusOK || len(found) != 2 || found[0].Phase != auditlog.PhaseBegin || found[1].Phase != auditlog.PhaseEnd ||
		found[0].RequestID != found[1].RequestID || found[0].Operation != "provider-create" || found[0].UserID != "admin" ||
		found[0].Outcome != "" || found[1].Outcome != auditlog.Success {
		t.Errorf("status = %d, lines = %+v", answer.Code, found)
	}
	if denied := a.write("POST", "/resource_providers", `{}`, "X-Roles", "reader"); denied.Code != http.StatusForbidden {
		t.Errorf("status = %d without a role", denied.Code)
	}
	if line := a.last(2); line.Phase != auditlog.PhaseEnd || line.Outcome != auditlog.Denied {
		t.Errorf("a denied write has the line %+v", line)
	}
}

// TestAuditLog_ConnectionEndsDuringWrite_OutcomeIsUnknown ends the database connection while the write
// waits for a lock.
func TestAuditLog_ConnectionEndsDuringWrite_OutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	a := newAudited(t, "", false)
	a.exercise()
	lines := len(a.audit())
	holding, err := a.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holding.Rollback(t.Context()) }()
	if _, err := holding.Exec(t.Context(), "SELECT FROM provider_generations FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	status := make(chan int)
	go func() {
		status <- a.write("DELETE", "/resource_providers/"+aProvider+"/traits", "").Code
	}()
	deadline := time.Now().Add(time.Minute)
	for ended := 0; ended == 0; time.Sleep(time.Millisecond) {
		if err := a.db.Pool.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&ended); err != nil || time.Now().After(deadline) {
			t.Fatalf("no write waits for the lock: %v", err)
		}
	}
	if got := <-status; got != http.StatusServiceUnavailable {
		t.Errorf("status = %d", got)
	}
	if line := a.last(lines); line.Outcome != auditlog.Unknown {
		t.Errorf("line = %+v", line)
	}
}

func TestAuth_RequestLine_NamesCallerAndBoundedQuery(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]func(*lines) slog.Handler{
		"text": func(out *lines) slog.Handler { return slog.NewTextHandler(out, nil) },
		"json": func(out *lines) slog.Handler { return slog.NewJSONHandler(out, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := &lines{}
			a := newAudited(t, "", false, func(options *server.Options) {
				options.AccessLog, options.Log = true, slog.New(handler(out))
			})
			a.write("GET", "/resource_providers?name="+strings.Repeat("é%0a", 1000), "", "X-Auth-Token", "u1:p1", "X-Roles", "admin")
			text := strings.NewReplacer(`":"`, "=", `"`, "").Replace(out.String())
			for _, want := range []string{"user_id=u1", "project_id=p1", "scope=project", "auth_method=noauth2", "query=name=é%0a", "%0…"} {
				if !strings.Contains(text, want) && !strings.Contains(text, strings.Replace(want, "…", "a…", 1)) {
					t.Errorf("line has no %s: %.2000s", want, text)
				}
			}
			if len(text) > 2048 || strings.Count(text, "\n") != 1 {
				t.Errorf("line has %d bytes: %.3000s", len(text), text)
			}
		})
	}
}
