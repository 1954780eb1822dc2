package console

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// filesOf returns the files that match the patterns, without tests.
func filesOf(t *testing.T, patterns ...string) []string {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

var (
	cssComment  = regexp.MustCompile(`(?s)/\*.*?\*/|url\([^)]*\)|"[^"]*"`)
	cssClass    = regexp.MustCompile(`\.([a-z][a-z0-9-]*)`)
	classes     = regexp.MustCompile(`class="([^"]*)"`)
	action      = regexp.MustCompile(`\{\{.*?\}\}`)
	goString    = regexp.MustCompile("\"[^\"\n]*\"|`[^`]*`")
	word        = regexp.MustCompile(`[a-z][a-z0-9-]*`)
	templateDir = []string{"templates/*.html", "testdata/templates/*.html"}
)

// styleClasses returns the classes of the style sheet.
func styleClasses(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, match := range cssClass.FindAllStringSubmatch(cssComment.ReplaceAllString(readFile(t, "assets/console.css"), ""), -1) {
		found = append(found, match[1])
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func TestConsole_StyleSheet_HasNoUnusedClass(t *testing.T) {
	t.Parallel()
	used := map[string]bool{"htmx-request": true} // htmx sets it
	for _, name := range filesOf(t, templateDir...) {
		for _, match := range classes.FindAllStringSubmatch(readFile(t, name), -1) {
			for _, class := range word.FindAllString(match[1], -1) {
				used[class] = true
			}
		}
	}
	for _, name := range filesOf(t, "*.go", "../../internal/draw/*.go") {
		for _, text := range goString.FindAllString(readFile(t, name), -1) {
			for _, class := range word.FindAllString(text, -1) {
				used[class] = true
			}
		}
	}
	for _, kind := range []string{"a", "v", "g", "r", "s", "used", "used2", "mark", "track", "over"} {
		used["f-"+kind], used[kind] = true, true
	}
	for shade := range 6 {
		used["h"+strconv.Itoa(shade)] = true
	}
	for _, kind := range []string{"main", "quiet", "small", "x", "dashed"} { // of buttons and chips, from data
		used[kind] = true
	}
	for _, class := range styleClasses(t) {
		if !used[class] {
			t.Errorf("class %q of the style sheet is unused", class)
		}
	}
}

func TestConsole_Templates_HaveNoUnknownClass(t *testing.T) {
	t.Parallel()
	known := styleClasses(t)
	check := func(name, text string) {
		for _, match := range classes.FindAllStringSubmatch(text, -1) {
			for _, class := range strings.Fields(action.ReplaceAllString(match[1], " ")) {
				if !slices.Contains(known, class) {
					t.Errorf("%s: class %q is not in the style sheet", name, class)
				}
			}
		}
	}
	for _, name := range filesOf(t, append(templateDir, "*.go")...) {
		check(name, readFile(t, name))
	}
	pages, err := parsePages(samplePages(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, frame := range sampleFrames(t, pages) { // with the classes of package draw
		var out strings.Builder
		if err := pages.render(t.Context(), &out, name, frame); err != nil {
			t.Fatal(err)
		}
		check(name, out.String())
	}
}

func TestConsole_Templates_SatisfyContentSecurityPolicy(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(`(?i)\sstyle\s*=|<style|\son[a-z]+\s*=|hx-on|js:|javascript:|<script[^>]*>[^<]`)
	names := filesOf(t, append(templateDir, "*.go", "../../internal/draw/fragment.go", "../../internal/draw/map.go",
		"../../internal/draw/histogram.go", "../../internal/draw/states.go")...)
	for _, name := range names {
		for i, line := range strings.Split(readFile(t, name), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			if match := forbidden.FindString(line); match != "" {
				t.Errorf("%s:%d: %q", name, i+1, match)
			}
		}
	}
	script := regexp.MustCompile(`\beval\b|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\.style\b`)
	if match := script.FindString(readFile(t, "assets/console.js")); match != "" {
		t.Errorf("console.js has %q", match)
	}
}

func TestConsole_Assets_StaySmall(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{
		"assets/console.css": 300, "assets/console.js": 150, "view.go": 200, "view_parts.go": 200, "view_format.go": 200, "view_pictures.go": 200,
	} {
		if lines := strings.Count(readFile(t, name), "\n"); lines > most {
			t.Errorf("%s has %d lines, want at most %d", name, lines, most)
		}
	}
}

// luminance returns the relative luminance of a color such as #1c7799, as WCAG 2 defines it.
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		value, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		channel := float64(value) / 255
		if channel <= 0.04045 {
			channel /= 12.92
		} else {
			channel = math.Pow((channel+0.055)/1.055, 2.4)
		}
		sum += weight * channel
	}
	return sum
}

func TestConsole_Tokens_HaveContrast(t *testing.T) {
	t.Parallel()
	tokens := map[string][2]string{}
	for _, match := range regexp.MustCompile(`--([a-z0-9-]+): (?:light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)|(#[0-9a-f]{6}));`).FindAllStringSubmatch(readFile(t, "assets/console.css"), -1) {
		tokens[match[1]] = [2]string{cmp.Or(match[2], match[4]), cmp.Or(match[3], match[4])}
	}
	for _, pair := range []struct {
		least   float64
		colors  string
		grounds string
	}{
		{14.5, "ink", "page surface"}, {11, "ink", "sunken"}, {11, "ink", "sea-soft amber-soft red-soft green-soft"}, {6, "ink-2", "page surface sunken sea-soft"},
		{5, "ink-3", "page surface sunken sea-soft"}, {6, "sea", "page surface sunken sea-soft"}, {5.5, "sea", "amber-soft"}, {6, "on-sea", "sea sea-strong"},
		{5, "amber", "surface amber-soft"}, {5, "violet", "surface violet-soft"}, {5, "green", "surface green-soft"}, {5, "red", "surface red-soft"},
		{5, "on-bar", "bar bar-field"}, {5, "on-bar-2", "bar bar-field"}, {3, "bar-edge bar-mark", "bar"},
		{3, "used used-2 amber-fill violet-fill green-fill red-fill held", "track"}, {3, "edge", "page surface"}, {3, "surface", "red-fill"}, {3, "green-fill amber-fill red-fill", "surface"},
	} {
		for _, color := range strings.Fields(pair.colors) {
			for _, ground := range strings.Fields(pair.grounds) {
				for theme, name := range []string{"light", "dark"} {
					if tokens[color][theme] == "" || tokens[ground][theme] == "" {
						t.Fatalf("no token %s or %s", color, ground)
					}
					x, y := luminance(t, tokens[color][theme]), luminance(t, tokens[ground][theme])
					if ratio := (max(x, y) + 0.05) / (min(x, y) + 0.05); ratio < pair.least {
						t.Errorf("%s on %s, %s: contrast = %.2f, want at least %.1f", color, ground, name, ratio, pair.least)
					}
				}
			}
		}
	}
}
