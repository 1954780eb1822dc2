package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// TestLimits_OwnErrorCodes_OnlyFromBerth15 sends a body that is too large at each version: without the extensions, and
// before berth 1.5, the code is that of OpenStack Placement.
func TestLimits_OwnErrorCodes_OnlyFromBerth15(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	body := `{"name": "` + strings.Repeat("a", 2<<20) + `"}`
	for version, want := range map[string]string{
		"placement 1.39":            fault.CodeUndefined,
		"placement 1.39, berth 1.4": fault.CodeUndefined,
		"placement 1.39, berth 1.5": fault.CodeLimitBody,
	} {
		r := httptest.NewRequest(http.MethodPost, "/resource_providers", strings.NewReader(body))
		r.Header = versioned(version, "")
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		s.handler.ServeHTTP(answer, r)
		if got := errorOf(t, answer); answer.Code != http.StatusRequestEntityTooLarge || got.Code != want {
			t.Errorf("%s: status %d, code = %s, want %s", version, answer.Code, got.Code, want)
		}
	}
}

// TestLimits_CanceledRequest_HasTimeoutCode covers an error that is not a fault: the end of the request's time.
func TestLimits_CanceledRequest_HasTimeoutCode(t *testing.T) {
	t.Parallel()
	for version, want := range map[microversion.Version]string{
		microversion.Berth(4): fault.CodeUndefined, microversion.Berth(5): fault.CodeTimeout,
	} {
		ctx, cancel := context.WithCancel(microversion.With(request.With(t.Context(), &request.Info{}), version))
		cancel()
		if got := apierr.From(ctx, ctx.Err()).Errors[0]; got.Code != want || got.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d, code = %s, want %s", version.Label(), got.Status, got.Code, want)
		}
	}
}
