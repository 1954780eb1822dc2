package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestClient_ExtensionsSelected_SentAndAnnounced(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{}
	client := newClient(t, WithTransport(wire))
	for version, want := range map[string]string{
		"": "placement 1.39", "1.0": "placement 1.39, berth 1.0", "1.1": "placement 1.39, berth 1.1", "latest": "placement 1.39, berth latest",
	} {
		_, err := client.CandidateList(WithExtensions(t.Context(), version), CandidateQuery{Resources: "VCPU:1"})
		if got := wire.heads[len(wire.heads)-1].Get("OpenStack-API-Version"); err != nil || got != want {
			t.Errorf("%q: sent %q, want %q; %v", version, got, want, err)
		}
	}
	if _, err := client.VersionList(WithExtensions(t.Context(), "1.1")); err != nil {
		t.Error(err)
	}
}

func TestClient_ServerWithoutExtensions_ReturnsErrExtensions(t *testing.T) {
	t.Parallel()
	// A server of another project ignores the entry, and so announces only the microversion.
	ignoring := &faultyTransport{After: func(_ *http.Request, answer *http.Response) (*http.Response, error) {
		if values := answer.Header.Values("OpenStack-API-Version"); len(values) > 1 {
			answer.Header["Openstack-Api-Version"] = values[:1]
		}
		return answer, nil
	}}
	server := serve(t)
	own, other := newClientOf(t, server), newClientOf(t, server, WithTransport(ignoring))
	list := func(of *Client, ctx context.Context) error {
		_, err := of.CandidateList(ctx, CandidateQuery{Resources: "VCPU:1"})
		return err
	}
	create := func(of *Client, ctx context.Context) error {
		_, err := of.ProviderCreate(ctx, "host", id(1), uuid.Nil)
		return err
	}
	newer := WithExtensions(t.Context(), "1.1")
	for name, test := range map[string]struct {
		err     error
		missing bool
		unknown bool
		text    string
	}{
		"a version of a later server": {list(own, WithExtensions(t.Context(), "1.99")), true, false, "Version 1.99 of berth was requested"},
		"a read":                      {list(other, newer), true, false, "the service ignores berth 1.1"},
		"a write":                     {create(other, newer), true, true, "the service ignores berth 1.1"},
		"a failed write":              {create(other, newer), true, false, "the service ignores berth 1.1"},
		"the first version":           {list(other, WithExtensions(t.Context(), "1.0")), false, false, ""},
		"no version":                  {list(other, t.Context()), false, false, ""},
	} {
		if got := errors.Is(test.err, ErrExtensions); got != test.missing || (test.err != nil) != test.missing {
			t.Errorf("%s: %v", name, test.err)
		}
		if errors.Is(test.err, ErrOutcomeUnknown) != test.unknown || test.err != nil && !strings.Contains(test.err.Error(), test.text) {
			t.Errorf("%s: %v, want %q", name, test.err, test.text)
		}
	}
}
