package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// listedConsumers returns the consumers in a CSV of the console.
func (s *site) listedConsumers(t *testing.T, query string) map[string]bool {
	t.Helper()
	status, body := s.get(t, "/console/consumers.csv?"+query, nil)
	if status != http.StatusOK {
		t.Fatalf("%s: status = %d: %s", query, status, textOf(body))
	}
	found := map[string]bool{}
	for _, line := range strings.Split(body, "\n")[1:] {
		if id, _, ok := strings.Cut(line, ","); ok {
			found[id] = true
		}
	}
	return found
}

// TestConsole_Consumers_AreThoseOfAHostARackAndAUser compares the lists with the allocations of the API.
func TestConsole_Consumers_AreThoseOfAHostARackAndAUser(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	inRack, roots := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	providers := must(s.api.ProviderList(t.Context(), client.ProviderFilter{}))(t)
	for p, err := range s.api.Providers(t.Context(), client.ProviderQuery{ProviderFilter: client.ProviderFilter{MemberOf: []string{s.Aggregate}}}) {
		if err != nil {
			t.Fatal(err)
		}
		roots[p.UUID] = true
	}
	for _, p := range providers {
		inRack[p.UUID] = roots[p.UUID] || roots[p.RootProviderUUID]
	}
	want := map[string]map[string]bool{"tree=gpu-01": {}, "aggregate=rack": {}, "user=": {}, "tree=" + s.Provider + "&user=": {}}
	user := must(s.api.ConsumerShow(client.WithExtensions(t.Context(), "1.4"), uuid.MustParse(s.Consumer)))(t).UserID
	for c, err := range s.api.Consumers(t.Context(), client.ConsumerFilter{WithAllocations: true}) {
		if err != nil {
			t.Fatal(err)
		}
		isThere := false
		for _, a := range c.Allocations {
			want["aggregate=rack"][c.UUID.String()] = want["aggregate=rack"][c.UUID.String()] || inRack[a.Provider]
			isThere = isThere || a.Root.String() == s.Provider
		}
		want["tree=gpu-01"][c.UUID.String()] = isThere
		want["user="][c.UUID.String()] = c.UserID == user
		want["tree="+s.Provider+"&user="][c.UUID.String()] = isThere && c.UserID == user
	}
	_, body := s.get(t, "/console/aggregates/"+s.Aggregate, nil)
	rack := url.QueryEscape(regexp.MustCompile(`rack \d`).FindString(textOf(body)))
	for query, wanted := range want {
		query = strings.Replace(query, "user=", "user="+user, 1)
		got := s.listedConsumers(t, strings.Replace(query, "=rack", "="+rack, 1))
		n := 0
		for id, is := range wanted {
			if is {
				n++
			}
			if is != got[id] {
				t.Errorf("%s: consumer %s is listed: %t, want %t", query, id, got[id], is)
			}
		}
		if n == 0 || n == len(wanted) {
			t.Errorf("%s: %d of %d consumers, want some", query, n, len(wanted))
		}
	}
	status, body := s.get(t, "/console/consumers?tree=gpu-01&user="+user, nil)
	wantTexts(t, body, "host", "aggregate", "user", user)
	if status != http.StatusOK {
		t.Errorf("status = %d", status)
	}
	for query, text := range map[string]string{"tree=no-such": "No provider has the name", "aggregate=no-such": "neither the UUID nor the name"} {
		if status, body = s.get(t, "/console/consumers?"+query, nil); status != http.StatusBadRequest {
			t.Errorf("%s: status = %d", query, status)
		}
		wantTexts(t, body, text)
	}
}
