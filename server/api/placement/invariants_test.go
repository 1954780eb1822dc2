package placement_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/internal/test/scenario"
	"github.com/berthd/berth/server/wire/microversion"
)

// wrongWithAnyAnswer returns the violations of rules that apply to all responses, so that scenarios need not repeat
// them.
func wrongWithAnyAnswer(e *scenario.Exchange) []string {
	if _, err := strconv.Atoi(cmp.Or(e.Sent.Get("Content-Length"), "0")); err != nil {
		return nil // net/http rejects it with its own response
	}
	var wrong []string
	for _, rule := range []func(*scenario.Exchange) string{
		requestIDIsFresh, versionIsEchoed, emptyAnswersHaveNoType, answersAreJSON, errorsHaveOneShape, cacheHeadersStandTogether,
	} {
		if sentence := rule(e); sentence != "" {
			wrong = append(wrong, "invariant: "+sentence)
		}
	}
	return wrong
}

func requestIDIsFresh(e *scenario.Exchange) string {
	values := e.Header.Values("X-Openstack-Request-Id")
	if len(values) != 1 || !strings.HasPrefix(values[0], "req-") || len(values[0]) != len("req-")+36 ||
		values[0] == e.Sent.Get("X-Openstack-Request-Id") {
		return fmt.Sprintf("request ID = %q", values)
	}
	return ""
}

// versionIsEchoed checks that responses after the negotiation contain the version and the header Vary.
func versionIsEchoed(e *scenario.Exchange) string {
	name := "OpenStack-API-Version"
	version, err := microversion.Negotiate(microversion.Parse(e.Sent.Values(name)))
	got := e.Header.Get(name)
	switch {
	case err != nil || e.Status == http.StatusUnauthorized || e.Method == http.MethodOptions:
		return ""
	case got != "placement "+version.String():
		return fmt.Sprintf("version = %q, want %s", got, version)
	case !strings.Contains(strings.ToLower(e.Header.Get("Vary")), strings.ToLower(name)):
		return fmt.Sprintf("Vary = %q", e.Header.Get("Vary"))
	}
	return ""
}

func emptyAnswersHaveNoType(e *scenario.Exchange) string {
	isEmpty := e.Status == http.StatusNoContent || e.Status == http.StatusCreated && len(e.Body) == 0
	if isEmpty && (len(e.Body) > 0 || e.Header.Get("Content-Type") != "") {
		return "an empty response has a content type or a body"
	}
	if e.Status == http.StatusCreated && len(e.Body) == 0 && e.Header.Get("Content-Length") != "0" {
		return "an empty 201 has no Content-Length of 0"
	}
	return ""
}

func answersAreJSON(e *scenario.Exchange) string {
	if e.Status < 300 && len(e.Body) > 0 && (e.Header.Get("Content-Type") != "application/json" || e.JSON == nil) {
		return fmt.Sprintf("Content-Type = %q", e.Header.Get("Content-Type"))
	}
	return ""
}

// errorsHaveOneShape checks that an error response has one error with exactly the members of the contract.
func errorsHaveOneShape(e *scenario.Exchange) string {
	if e.Status < 400 || e.Status == http.StatusUnauthorized || e.Method == http.MethodHead || e.Header.Get("Content-Type") != "application/json" {
		return ""
	}
	object, _ := e.JSON.(map[string]any)
	list, _ := object["errors"].([]any)
	if len(object) != 1 || len(list) != 1 {
		return "an error does not have the form {errors: [{}]}"
	}
	item, _ := list[0].(map[string]any)
	var keys []string
	for key := range item {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	want := []string{"detail", "request_id", "status", "title"}
	version, err := microversion.Negotiate(microversion.Parse(e.Sent.Values("OpenStack-API-Version")))
	if err == nil && version.HasErrorCode() {
		want = slices.Insert(want, 0, "code")
	}
	if strings.Contains(strings.Join(e.Sent.Values("OpenStack-API-Version"), ","), "berth 1.") { // these members depend on the error
		keys = slices.DeleteFunc(keys, func(key string) bool {
			return key == "explanation" || key == "refused" || key == "fit" || key == "exact"
		})
	}
	if err != nil && e.Status == http.StatusNotAcceptable {
		want = []string{"detail", "max_version", "min_version", "request_id", "status", "title"}
	}
	switch {
	case !slices.Equal(keys, want):
		return fmt.Sprintf("members of the error = %q, want %q", keys, want)
	case fmt.Sprint(item["status"]) != fmt.Sprint(e.Status):
		return fmt.Sprintf("status in the error = %v", item["status"])
	case item["request_id"] != e.Header.Get("X-Openstack-Request-Id"):
		return fmt.Sprintf("request ID in the error = %v", item["request_id"])
	}
	return ""
}

// cacheHeadersStandTogether checks that from 1.15 on a response with a body has cache headers, and that earlier
// versions and errors have none.
func cacheHeadersStandTogether(e *scenario.Exchange) string {
	version, err := microversion.Negotiate(microversion.Parse(e.Sent.Values("OpenStack-API-Version")))
	control, modified := e.Header.Get("Cache-Control"), e.Header.Get("Last-Modified")
	isNew := err == nil && version.HasCacheHeaders()
	switch {
	case (!isNew || e.Status >= 400) && control+modified != "":
		return fmt.Sprintf("Cache-Control = %q, Last-Modified = %q", control, modified)
	case isNew && e.Status == http.StatusOK && control != "no-cache" && e.Method == http.MethodGet:
		return fmt.Sprintf("cache-control %q", control)
	case modified != "" && control == "":
		return "last-modified without cache-control"
	}
	return ""
}
