package console_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/client"
)

// leasedSite returns a site with leases of three of its consumers, of which the first ends first.
func leasedSite(t *testing.T, o siteOptions) (s *site, ids []string) {
	t.Helper()
	o.hosts = 12
	s = newSite(t, o)
	until := time.Now().Add(100 * 24 * time.Hour)
	leases := []client.LeaseTerms{{Seconds: 600}, {Seconds: 7200, Until: until}, {Until: until}}
	for c, err := range s.api.Consumers(t.Context(), client.ConsumerFilter{PageSize: 10}) {
		if err != nil {
			t.Fatal(err)
		}
		if c.NodeAllocation != nil {
			continue
		}
		if len(ids) == len(leases) {
			return s, ids
		}
		lease(t, s.api, c.UUID, leases[len(ids)])
		ids = append(ids, c.UUID.String())
	}
	t.Fatalf("%d consumers, want some more", len(ids))
	return nil, nil
}

// TestConsole_Leases_AreListedAndShown lists consumers with leases in their order, without leases, and shows single ones.
func TestConsole_Leases_AreListedAndShown(t *testing.T) {
	t.Parallel()
	s, ids := leasedSite(t, siteOptions{})
	_, body := s.get(t, "/console/consumers?sort=lease", nil)
	wantTexts(t, body, "Lease ends first", "3 of 3 consumers", "in 9 min", "in 1 h", "until 20")
	var rows []string
	for _, match := range regexp.MustCompile(`<th scope="row".*?href="/console/consumers/([0-9a-f-]{36})"`).FindAllStringSubmatch(body, -1) {
		rows = append(rows, match[1])
	}
	if !slices.Equal(rows, ids) {
		t.Errorf("rows %v, want %v", rows, ids)
	}
	with, without := s.listedConsumers(t, "lease=with"), s.listedConsumers(t, "lease=without&sort=oldest")
	for _, id := range ids {
		if !with[id] || without[id] || len(with) != len(ids) || len(without) == 0 {
			t.Errorf("%s is listed with a lease: %t, without one: %t; %d and %d consumers", id, with[id], without[id], len(with), len(without))
		}
	}
	for i, texts := range [][]string{{"10 min after each renewal", "in 9 min"}, {"2 h after each renewal, until 20", "in 1 h"}, {"until 20", "in 99 days"}} {
		_, body = s.get(t, "/console/consumers/"+ids[i], nil)
		wantTexts(t, body, texts...)
	}
	for query, want := range map[string]int{"lease=x": 400, "sort=x": 400, "lease=without&sort=lease": 400, "q=0&lease=with": 200} {
		if status, _ := s.get(t, "/console/consumers?"+query, nil); status != want {
			t.Errorf("%s: status = %d, want %d", query, status, want)
		}
	}
}

// TestConsole_ServiceWithoutLeases_ShowsConsumers opens the pages of consumers of a service with the extensions 1.4.
func TestConsole_ServiceWithoutLeases_ShowsConsumers(t *testing.T) {
	t.Parallel()
	s, ids := leasedSite(t, siteOptions{watch: func(api http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			const header = "OpenStack-API-Version"
			r.Header.Set(header, strings.Replace(r.Header.Get(header), "berth latest", "berth 1.4", 1))
			if strings.Contains(r.Header.Get(header), "berth 1.6") {
				t.Errorf("%s %s with %s", r.Method, r.URL, r.Header.Get(header))
			}
			api.ServeHTTP(w, r)
		})
	}})
	for address, want := range map[string]int{
		"": 200, "?sort=oldest": 200, "?sort=lease": 400, "?lease=with": 400, ".csv": 200, ".json": 200, "/" + ids[0]: 200,
	} {
		status, body := s.get(t, "/console/consumers"+address, nil)
		if status != want || status == http.StatusOK && !strings.Contains(address, ".") && strings.Contains(textOf(body), "ease") {
			t.Errorf("%s: status = %d, want %d and no lease:\n%s", address, status, want, textOf(body))
		}
	}
}
