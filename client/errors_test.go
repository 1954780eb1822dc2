package client

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// anInstance is a new consumer's record with an amount of VCPU of provider 1.
func anInstance(amount int64) *Consumer {
	return &Consumer{
		Allocations: map[uuid.UUID]Resources{id(1): {"VCPU": amount}}, ProjectID: "project", UserID: "user", Type: "INSTANCE",
	}
}

// newHost is a client of a server with a provider 1, "host", that has 8 VCPU, at
// generation 1.
func newHost(t testing.TB, options ...Option) *Client {
	t.Helper()
	client := newClient(t, options...)
	must(client.ProviderCreate(t.Context(), "host", id(1), uuid.Nil))(t)
	if _, _, err := client.InventoryReplace(t.Context(), id(1), 0, Inventories{"VCPU": {Total: 8}}); err != nil {
		t.Fatal(err)
	}
	return client
}

func TestClient_ServerErrors_MapToGoErrors(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newHost(t)
	must(client.ProviderCreate(ctx, "child", id(2), id(1)))(t)
	must(client.ProviderCreate(ctx, "other", id(3), uuid.Nil))(t)
	if err := client.AllocationReplace(ctx, id(10), anInstance(2), nil); err != nil {
		t.Fatal(err)
	}
	create := func(name string, number int) error {
		_, err := client.ProviderCreate(ctx, name, id(number), uuid.Nil)
		return err
	}
	replace := func(generation int64, wanted Inventories) error {
		_, _, err := client.InventoryReplace(ctx, id(1), generation, wanted)
		return err
	}
	rename := func() error { _, err := client.ProviderUpdate(ctx, id(3), "host", uuid.Nil); return err }
	again := func() error {
		_, _, err := client.InventoryCreate(ctx, id(1), "VCPU", InventoryRecord{Total: 1})
		return err
	}
	other := func(change func(*Consumer)) error {
		record := anInstance(1)
		change(record)
		return client.AllocationReplace(ctx, id(11), record, nil)
	}
	for _, test := range []struct {
		what  string
		err   error
		kinds []error
	}{
		{"a name is taken", create("host", 4), []error{ErrDuplicateName}},
		{"a uuid is taken", create("new", 1), []error{ErrDuplicateUUID}},
		{"a name is taken in a rename", rename(), []error{ErrDuplicateName}},
		{"an old generation", replace(0, nil), []error{ErrConcurrentUpdate}},
		{"a class in use", replace(2, nil), []error{ErrInventoryInUse}},
		{"all classes in use", client.InventoryClear(ctx, id(1)), []error{ErrInventoryInUse}},
		{"one class in use", client.InventoryDelete(ctx, id(1), "VCPU"), []error{ErrInventoryInUse}},
		{"a class twice", again(), []error{ErrConcurrentUpdate}},
		{"a class that is not there", client.InventoryDelete(ctx, id(1), "DISK_GB"), []error{ErrNotFound}},
		{"no generation of a consumer", client.AllocationReplace(ctx, id(10), anInstance(1), nil), []error{ErrConcurrentUpdate, ErrConsumerGeneration}},
		{"a generation of no consumer", other(func(c *Consumer) { c.Generation = new(int64(1)) }), []error{ErrConcurrentUpdate, ErrConsumerGeneration}},
		{"too much", other(func(c *Consumer) { c.Allocations[id(1)]["VCPU"] = 7 }), []error{ErrCapacityExceeded}},
		{"more than the largest amount", other(func(c *Consumer) { c.Allocations[id(1)]["VCPU"] = 1 << 40 }), []error{ErrCapacityExceeded}},
		{"no such inventory", other(func(c *Consumer) { c.Allocations[id(1)]["DISK_GB"] = 1 }), []error{ErrCapacityExceeded}},
		{"no such provider", other(func(c *Consumer) { c.Allocations[id(9)] = Resources{"VCPU": 1} }), nil},
		{"children", client.ProviderDelete(ctx, id(1)), []error{ErrHasChildren}},
		{"an unknown consumer", client.AllocationDelete(ctx, id(99)), []error{ErrNotFound}},
		{"a reshape of a provider that is not there", client.Reshape(ctx, map[uuid.UUID]ProviderInventories{id(9): {}}, nil), []error{ErrNotFound}},
		{"a reshape of an old provider", client.Reshape(ctx, map[uuid.UUID]ProviderInventories{id(1): {}}, nil), []error{ErrConcurrentUpdate}},
		{"a reshape that forgets a consumer", client.Reshape(ctx, map[uuid.UUID]ProviderInventories{id(1): {Generation: 2}}, nil), []error{ErrInventoryInUse}},
	} {
		t.Run(test.what, func(t *testing.T) { wantErrors(t, test.err, test.kinds...) })
	}
	if err := client.ProviderDelete(ctx, id(2)); err != nil {
		t.Fatal(err)
	}
	wantErrors(t, client.ProviderDelete(ctx, id(1)), ErrProviderInUse)
}

func TestClient_UnauthenticatedOrDenied_ReturnsErrUnauthorizedOrForbidden(t *testing.T) {
	t.Parallel()
	served := serve(t)
	broken := newClientOf(t, served, WithTransport(&faultyTransport{Before: func(request *http.Request) (*http.Response, error) {
		request.Header.Del(tokenHeader)
		return nil, nil
	}}))
	_, err := broken.ProviderList(t.Context(), ProviderFilter{})
	wantErrors(t, err, ErrUnauthorized)
	if !strings.Contains(err.Error(), "401 Unauthorized: This request needs a valid token") {
		t.Errorf("a 401 reads %q", err)
	}
	reader := newClientOf(t, served, WithNoAuth("user", "project", "reader"))
	_, err = reader.ProviderCreate(t.Context(), "host", id(1), uuid.Nil)
	wantErrors(t, err, ErrForbidden)
}

func TestClient_ErrorResponse_CarriesRequestAndDetail(t *testing.T) {
	t.Parallel()
	_, err := newClient(t).ProviderShow(t.Context(), id(1))
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("a %T, %v", err, err)
	}
	if failed.RequestID == "" {
		t.Error("no request id")
	}
	want := Error{Method: "GET", Path: "/resource_providers/" + id(1).String(), Status: 404, Code: "placement.undefined_code", Title: "Not Found",
		Detail: "No resource provider with uuid " + id(1).String() + " found", RequestID: failed.RequestID}
	if !reflect.DeepEqual(*failed, want) {
		t.Errorf("%+v, want %+v", *failed, want)
	}
	text := "GET /resource_providers/" + id(1).String() + ": 404 Not Found: No resource provider with uuid " + id(1).String() +
		" found (" + failed.RequestID + ")"
	if err.Error() != text {
		t.Errorf("it reads %q, want %q", err, text)
	}
}

func TestClient_OldServer_ReportsSupportedMicroversions(t *testing.T) {
	t.Parallel()
	client := newClient(t, WithTransport(&faultyTransport{Before: func(request *http.Request) (*http.Response, error) {
		// Like an older service: no microversion of ours is among its own.
		request.Header.Set("OpenStack-API-Version", "placement 1.40")
		return nil, nil
	}}))
	_, err := client.ProviderList(t.Context(), ProviderFilter{})
	wantErrors(t, err, ErrMicroversion)
	if !strings.Contains(err.Error(), "the service supports the microversions 1.0 to 1.39, this client requires 1.39") {
		t.Errorf("it reads %q", err)
	}
}

func TestClient_ProxyErrorPage_QuotedTruncated(t *testing.T) {
	t.Parallel()
	page := "<html>\n<h1>Bad\xff Request</h1>" + strings.Repeat("é ", 300) + "</html>"
	client := newClient(t, WithTransport(&faultyTransport{Before: func(request *http.Request) (*http.Response, error) {
		return answer(request, http.StatusBadRequest, page, "Content-Type: text/html"), nil
	}}))
	_, err := client.ProviderList(t.Context(), ProviderFilter{})
	wantErrors(t, err)
	want := "GET /resource_providers: 400 Bad Request: <html> <h1>Bad Request</h1>é é é"
	if !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "…") || len(err.Error()) > 500 {
		t.Errorf("it reads %q, want %q…", err, want)
	}
}

func TestClient_NonAPIResponse_ReturnsError(t *testing.T) {
	t.Parallel()
	client := newClient(t, WithTransport(&faultyTransport{Before: func(request *http.Request) (*http.Response, error) {
		return answer(request, http.StatusOK, "<html>Welcome</html>"), nil
	}}))
	_, err := client.ProviderList(t.Context(), ProviderFilter{})
	wantErrors(t, err)
	if !strings.Contains(err.Error(), `it begins with "<html>Welcome</html>"`) {
		t.Errorf("it reads %q", err)
	}
}

func TestClient_Redirect_NotFollowed(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{Before: func(request *http.Request) (*http.Response, error) {
		return answer(request, http.StatusMovedPermanently, "<html>", "Location: https://elsewhere.example/"), nil
	}}
	_, err := newClient(t, WithTransport(through)).ProviderList(t.Context(), ProviderFilter{})
	wantErrors(t, err)
	if want := "GET /resource_providers: 301 Moved Permanently: the service is at https://elsewhere.example/"; err.Error() != want {
		t.Errorf("it reads %q, want %q", err, want)
	}
	wantSent(t, through, "GET /resource_providers")
}
