package baremetal

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// things returns a route table with an operation for each type of response.
func things() *route.Table {
	made := func(ctx context.Context, _ *none, body *thing) (*created[view[thing]], error) {
		return &created[view[thing]]{Location: url(ctx, "/v1/things/u"), Body: thingShape.show(thingShape.only(ctx, "uuid"), body)}, nil
	}
	patched := func(ctx context.Context, _ *none, patch *Patch) (*answer[int], error) {
		return &answer[int]{Body: len(*patch)}, patch.check(ctx, thingShape, "name", "extra")
	}
	started := func(ctx context.Context, _ *none) (*accepted, error) {
		return &accepted{Location: url(ctx, "/v1/things/u/states")}, nil
	}
	dropped := func(context.Context, *none) (*empty, error) { return nil, nil }
	const path = "/v1/things"
	return route.New([]*route.Operation{
		{
			ID: "thing-create", Method: http.MethodPost, Path: path, Rule: policy.NodesCreate, Checks: writes,
			Variants: []route.Variant{route.Write(v(1), route.Body[none]{}, made, route.Status(http.StatusCreated))},
		},
		{
			ID: "thing-update", Method: http.MethodPatch, Path: path, Rule: policy.NodesUpdate, Checks: writesSince, MissingIsMethod: true,
			Variants: []route.Variant{route.Write(v(57), route.Body[none]{}, patched)},
		},
		{
			ID: "thing-start", Method: http.MethodPut, Path: path, Rule: policy.NodesUpdate,
			Variants: []route.Variant{route.From(v(1), started, route.Status(http.StatusAccepted))},
		},
		{
			ID: "thing-delete", Method: http.MethodDelete, Path: path, Rule: policy.NodesDelete, Checks: only,
			Variants: []route.Variant{route.From(v(52), dropped)},
		},
	}, route.Options{API: API(nil), Policy: policy.NewBaremetal(), Bodies: route.BodyLimits{Max: 1 << 20}})
}

func sendTo(t *testing.T, table *route.Table, at microversion.Version, method, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "/v1/things", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	info := &request.Info{Service: request.Baremetal, Base: "http://m", HTTP: r}
	ctx := auth.With(request.With(t.Context(), info), auth.Caller{Roles: []string{"admin", "member", "reader"}, SystemScope: "all"})
	r = r.WithContext(microversion.With(ctx, at))
	info.HTTP = r
	w := httptest.NewRecorder()
	if err := table.Serve(w, r); err != nil {
		apierr.Write(w, r, err)
	}
	return w
}

func TestRoute_BaremetalResponses_HaveStatusAndLocation(t *testing.T) {
	t.Parallel()
	table := things()
	for _, test := range []struct {
		method, body string
		status       int
		location     string
		answer       string
	}{
		{http.MethodPost, `{"uuid": "u", "extra": {}, "owner": null, "links": []}`, 201, "http://m/v1/things/u", `{"uuid":"u","links":[]}`},
		{http.MethodPut, "", 202, "http://m/v1/things/u/states", ""},
		{http.MethodDelete, "", 204, "", ""},
		{http.MethodPatch, `[]`, 200, "", "0"},
	} {
		got := sendTo(t, table, 82, test.method, test.body)
		if got.Code != test.status || got.Header().Get("Location") != test.location || strings.TrimSpace(got.Body.String()) != test.answer {
			t.Errorf("%s: status %d, Location %q, %s", test.method, got.Code, got.Header().Get("Location"), got.Body)
		}
	}
}

func TestMicroversion_OperationNotInVersion_Returns404Or405(t *testing.T) {
	t.Parallel()
	table := things()
	for method, want := range map[string]int{http.MethodPatch: 405, http.MethodDelete: 404} {
		got := sendTo(t, table, 51, method, "[]")
		var outer struct {
			Message string `json:"error_message"`
		}
		if err := json.Unmarshal(got.Body.Bytes(), &outer); err != nil || got.Code != want || !strings.HasPrefix(outer.Message, `{"code":`) {
			t.Errorf("%s: status %d, %s (%v)", method, got.Code, got.Body, err)
		}
	}
}

func TestQuery_JSONPatchBody_ValidatedStrictly(t *testing.T) {
	t.Parallel()
	table := things()
	for body, want := range map[string]string{
		`[{"op": "add", "path": "/extra/a/b_c-d/0", "value": {"deep": [1]}}]`:                "1",
		`[{"op": "add", "path": "/name", "value": null}, {"op": "remove", "path": "/name"}]`: "2",
		`[{"op": "test", "path": "/name", "value": 1}]`:                                      "JSON does not validate: 'test' is not one of ['add', 'replace', 'remove']",
		`[{"op": "add", "path": "/name", "value": 1, "from": "/x"}]`:                         "JSON does not validate: Additional properties are not allowed ('from' was unexpected)",
		`[{"path": "/name", "value": 1}]`:                                                    "JSON does not validate: 'op' is a required property",
		`[{"op": "remove"}]`:                                                                 "JSON does not validate: 'path' is a required property",
		`[{"op": "remove", "path": "name"}]`:                                                 "JSON does not validate: 'name' does not match",
		`[{"op": "remove", "path": "/"}]`:                                                    "JSON does not validate: '/' does not match",
		`[{"op": "remove", "path": "/a~1b"}]`:                                                "JSON does not validate: '/a~1b' does not match",
		`[{"op": "remove", "path": "/name\n"}]`:                                              "JSON does not validate: ",
		`{"op": "remove", "path": "/name"}`:                                                  "JSON does not validate: ",
		`[1]`:                                                                                "JSON does not validate: 1 is not of type 'object'",
		`[{"op": "add", "path": "/name"}]`:                                                   "Cannot add /name: the value is missing.",
		`[{"op": "remove", "path": "/uuid"}]`:                                                "Cannot patch /uuid. Only the following can be updated: name, extra",
	} {
		got := sendTo(t, table, 82, http.MethodPatch, body)
		ok := len(want) == 1
		if (got.Code == http.StatusOK) != ok || !ok && got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: status %d, %s", body, got.Code, got.Body)
		}
	}
}
