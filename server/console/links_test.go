package console_test

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// step is a request that a link or a button of a page sends. Its form is empty for a link.
type step struct {
	method, target string
	form           url.Values
	from           string // the page, and what leads on
}

var (
	linkPattern   = regexp.MustCompile(`(?:href|hx-get)="(/[^"]*)"`)
	formPattern   = regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)
	fieldPattern  = regexp.MustCompile(`(?s)<input([^>]*)>|<textarea([^>]*)>(.*?)</textarea>|<select([^>]*)>(.*?)</select>`)
	buttonPattern = regexp.MustCompile(`<button([^>]*)>`)
	optionPattern = regexp.MustCompile(`<option value="([^"]*)"( selected)?>`)
	attribute     = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
)

// attributesOf returns the attributes of an element that have a value.
func attributesOf(element string) map[string]string {
	found := map[string]string{}
	for _, one := range attribute.FindAllStringSubmatch(element, -1) {
		found[one[1]] = html.UnescapeString(one[2])
	}
	return found
}

// fieldsOf returns what a browser sends of a form that its user leaves as it is; false: a required field is empty.
func fieldsOf(form string) (url.Values, bool) {
	fields := url.Values{}
	for _, one := range fieldPattern.FindAllStringSubmatch(form, -1) {
		of := attributesOf(one[1] + one[2] + one[4])
		value := of["value"] + html.UnescapeString(one[3])
		for i, option := range optionPattern.FindAllStringSubmatch(one[5], -1) {
			if i == 0 || option[2] != "" {
				value = html.UnescapeString(option[1])
			}
		}
		if of["name"] != "" && of["type"] != "checkbox" {
			fields.Add(of["name"], value)
		}
		if strings.Contains(one[0], " required") && value == "" {
			return nil, false
		}
	}
	return fields, true
}

// stepsOf returns the steps that a page offers.
func stepsOf(page, body string) (steps []step) {
	for _, link := range linkPattern.FindAllStringSubmatch(body, -1) {
		if target := html.UnescapeString(link[1]); !strings.Contains(target, "/assets/") {
			steps = append(steps, step{method: http.MethodGet, target: target, from: page})
		}
	}
	path, _, _ := strings.Cut(page, "?")
	for _, form := range formPattern.FindAllStringSubmatch(body, -1) {
		of := attributesOf(form[1])
		fields, isComplete := fieldsOf(form[2])
		if !isComplete {
			continue
		}
		for _, button := range buttonPattern.FindAllStringSubmatch(form[2], -1) {
			pressed := attributesOf(button[1])
			if pressed["type"] == "button" {
				continue
			}
			sent := url.Values{}
			for name, values := range fields {
				sent[name] = slices.Clone(values)
			}
			if pressed["name"] != "" {
				sent.Add(pressed["name"], pressed["value"])
			}
			one := step{strings.ToUpper(cmp.Or(of["method"], "get")), cmp.Or(of["action"], path), sent, page + " button " + pressed["value"]}
			if one.method == http.MethodGet {
				one.target, one.form = one.target+"?"+sent.Encode(), nil
			}
			steps = append(steps, one)
		}
	}
	return steps
}

// kindOf is equal for steps that differ only in the objects they are about.
func (s step) kindOf() string {
	kind := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[A-Z][A-Z0-9_]{2,}|\d+`).ReplaceAllString(s.method+" "+s.target, "#")
	kind = regexp.MustCompile(`(candidate|marker|back|q|project)=[^&]*`).ReplaceAllString(kind, "$1=#")
	return kind + fmt.Sprint(s.form["add"], s.form["persona"], s.form["theme"])
}

// sameKind is the number of steps of one kind that the test takes.
const sameKind = 3

// TestConsole_LinksAndButtons_LeadToPages takes the links and buttons of all pages of the sample cloud, and those of the pages
// to which they lead. None of them may lead to an error.
func TestConsole_LinksAndButtons_LeadToPages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	var queue []step
	for _, page := range pages {
		if page.name != "not-found" {
			queue = append(queue, step{method: http.MethodGet, target: strings.TrimPrefix(page.on(s), s.url), from: "the list of pages"})
		}
	}
	taken, of, seen := 0, map[string]int{}, map[string]bool{}
	for ; len(queue) > 0; queue = queue[1:] {
		one := queue[0]
		key := one.method + one.target + one.form.Encode()
		if seen[key] || of[one.kindOf()] == sameKind {
			continue
		}
		seen[key], of[one.kindOf()] = true, of[one.kindOf()]+1
		if taken++; taken > 3000 {
			t.Fatalf("the pages have more than %d different links; the last one is %s of %s", taken, one.target, one.from)
		}
		status, body, location := s.take(t, one)
		if status >= http.StatusBadRequest {
			t.Errorf("%s %s %v, from %s: status = %d: %.300s", one.method, one.target, one.form, one.from, status, textOf(body))
			continue
		}
		if location != "" {
			queue = append(queue, step{method: http.MethodGet, target: location, from: one.from + " redirect"})
		}
		if strings.HasPrefix(one.target, "/console") && strings.Contains(body, "<main") {
			queue = append(queue, stepsOf(one.target, body)...)
		}
	}
	if !seen["GET/docs"] {
		t.Error("no page leads to the reference of the API")
	}
	if t.Logf("%d links and buttons of %d kinds", taken, len(of)); taken < 200 {
		t.Errorf("the test took %d links and buttons", taken)
	}
}

// take sends the request of a step as the first persona, and returns the status, the body and the address of a redirect.
func (s *site) take(t *testing.T, one step) (int, string, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), one.method, s.url+one.target, strings.NewReader(one.form.Encode()))
	if err != nil {
		t.Fatalf("%s of %s: %v", one.target, one.from, err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if one.method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body), answer.Header.Get("Location")
}

// TestConsole_CandidatesOfATree_AsksForAmounts follows the button of the page of a tree.
func TestConsole_CandidatesOfATree_AsksForAmounts(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	_, body := s.get(t, "/console/providers/"+s.Provider, nil)
	link := regexp.MustCompile(`href="([^"]*)">Find candidates here<`).FindStringSubmatch(body)
	if link == nil {
		t.Fatal("the page of the tree has no button")
	}
	status, body := s.get(t, html.UnescapeString(link[1]), nil)
	wantTexts(t, body, "Enter an amount.", "1 VGPU", "1 VCPU")
	if status != http.StatusOK || strings.Contains(body, "1 DISK_GB") || !strings.Contains(body, `value="`+s.Provider+`"`) {
		t.Errorf("status = %d: %s", status, textOf(body))
	}
	one := regexp.MustCompile(`href="([^"]*)">1 VCPU<`).FindStringSubmatch(body)
	if status, body = s.get(t, html.UnescapeString(one[1]), nil); status != http.StatusOK {
		t.Errorf("status = %d: %s", status, textOf(body))
	}
	wantTexts(t, body, "in 1 tree", "gpu-01")
}
