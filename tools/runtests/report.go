package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// module is the prefix of import paths that lines leave out.
const module = "github.com/berthd/berth/"

// silence is the time after which a line says what runs, if no package has ended.
const silence = 20 * time.Second

// linkerFlags leave debugging information out of the test programs, which halves the time of a build from a warm cache, and
// leave go vet to `make lint`.
var linkerFlags = []string{"-ldflags=-w", "-vet=off"}

// garbage is the GOGC of builds and tests: collecting less often saves a tenth of the CPU time.
const garbage = "400"

// event is a line of `go test -json`.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// testTime is a test and its time in seconds.
type testTime struct {
	name    string
	elapsed float64
}

// report prints the progress of a run and keeps its results.
type report struct {
	out     io.Writer
	begun   time.Time
	all     int
	left    map[string]bool
	running map[string]time.Time
	// ended are the times of the packages in seconds.
	ended map[string]float64
	// lines are what tests and packages have printed until they passed, by package and test.
	lines   map[string][]string
	failed  []string
	skipped []string
	tests   []testTime
	cpu     time.Duration
}

func newReport(out io.Writer, packages int) *report {
	return &report{
		out: out, begun: time.Now(), all: packages, left: map[string]bool{}, running: map[string]time.Time{},
		ended: map[string]float64{}, lines: map[string][]string{},
	}
}

// goTest runs the tests of packages in their order, those of the benchmarks last. Its error says that a test failed, or why
// none ran.
func goTest(ctx context.Context, root string, packages, flags []string, to *report) error {
	for _, path := range packages {
		to.left[path] = true
	}
	return byModule(root, packages, func(dir string, packages []string) error {
		return goTestIn(ctx, dir, packages, flags, to)
	})
}

// goTestIn is goTest for packages of one module, whose folder is dir.
func goTestIn(ctx context.Context, dir string, packages, flags []string, to *report) error {
	failedBefore := len(to.failed)
	command := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-json"}, linkerFlags, flags, packages)...)
	command.Dir, command.Stderr = dir, os.Stderr
	command.Env = append(os.Environ(), "GOGC="+cmp.Or(os.Getenv("GOGC"), garbage))
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGINT) }
	command.WaitDelay = 10 * time.Second
	stdout, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return err
	}
	to.follow(stdout)
	err = command.Wait()
	to.cpu += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && ctx.Err() == nil {
		failures := to.failed[failedBefore:]
		return fmt.Errorf("%d tests or packages failed:\n  %s", len(failures), strings.Join(failures, "\n  "))
	}
	return err
}

// follow reads the events of a run to its end.
func (r *report) follow(from io.Reader) {
	events := make(chan string)
	go func() {
		defer close(events)
		reader := bufio.NewReader(from)
		for {
			line, err := reader.ReadString('\n')
			if line != "" {
				events <- line
			}
			if err != nil {
				return
			}
		}
	}()
	quiet := time.NewTimer(silence)
	for {
		select {
		case line, more := <-events:
			if !more {
				return
			}
			if r.take(line) {
				quiet.Reset(silence)
			}
		case <-quiet.C:
			r.printRunning()
			quiet.Reset(silence)
		}
	}
}

// take takes one line, and reports whether it has printed something.
func (r *report) take(line string) bool {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(r.out, line)
		return true
	}
	key := cmp.Or(e.Package, e.ImportPath) + " " + e.Test
	switch e.Action {
	case "start":
		r.running[e.Package] = time.Now()
	case "output", "build-output":
		r.lines[key] = append(r.lines[key], e.Output)
	case "skip":
		if e.Test != "" {
			r.skipped = append(r.skipped, name(e)+": "+strings.TrimSpace(r.reason(key)))
		}
		return e.Test == "" && r.end(&e)
	case "pass", "fail":
		return r.takeResult(&e, key)
	}
	return false
}

// takeResult takes the end of a test or package.
func (r *report) takeResult(e *event, key string) bool {
	if e.Test != "" && !strings.Contains(e.Test, "/") {
		r.tests = append(r.tests, testTime{name(*e), e.Elapsed})
	}
	if e.Action == "fail" {
		fmt.Fprint(r.out, strings.Join(r.lines[key], ""))
		r.failed = append(r.failed, name(*e))
	}
	delete(r.lines, key)
	return e.Test == "" && r.end(e) || e.Action == "fail"
}

// reason is the last line that a skipped test has printed before its result.
func (r *report) reason(key string) string {
	lines := slices.DeleteFunc(r.lines[key], func(line string) bool { return strings.HasPrefix(line, "===") || strings.Contains(line, "--- SKIP") })
	if len(lines) == 0 {
		return "no reason"
	}
	return lines[len(lines)-1]
}

func name(e event) string {
	path := strings.TrimPrefix(cmp.Or(e.Package, e.ImportPath), module)
	return strings.TrimSpace(path + " " + e.Test)
}

// end prints that a package has ended.
func (r *report) end(e *event) bool {
	delete(r.left, e.Package)
	delete(r.running, e.Package)
	r.ended[e.Package] = e.Elapsed
	result := map[string]string{"pass": "ok", "fail": "FAIL", "skip": "none"}[e.Action]
	fmt.Fprintf(r.out, "%-4s %6.1f s  %-42s %3d of %d%s\n", result, e.Elapsed, strings.TrimPrefix(e.Package, module), len(r.ended), r.all, r.rest())
	return true
}

// rest estimates the time until all packages have ended from those that have.
func (r *report) rest() string {
	var ended, left float64
	for path := range r.ended {
		ended += expected(path)
	}
	for path := range r.left {
		left += expected(path)
		if since, runs := r.running[path]; runs {
			left -= min(time.Since(since).Seconds(), 0.9*expected(path))
		}
	}
	if ended < left/20 || len(r.left) == 0 {
		return ""
	}
	rest := time.Duration(time.Since(r.begun).Seconds() * left / ended * float64(time.Second))
	return fmt.Sprintf(", about %s left", rest.Round(time.Second))
}

func (r *report) printRunning() {
	var texts []string
	for path, since := range r.running {
		texts = append(texts, fmt.Sprintf("%s (%.0f s)", strings.TrimPrefix(path, module), time.Since(since).Seconds()))
	}
	slices.Sort(texts)
	fmt.Fprintf(r.out, "     running: %s%s\n", strings.Join(texts, ", "), r.rest())
}

// summary prints the slowest tests and the sums.
func (r *report) summary(slowest int) {
	slices.SortStableFunc(r.tests, func(a, b testTime) int { return cmp.Compare(b.elapsed, a.elapsed) })
	fmt.Fprintln(r.out)
	if slowest > 0 {
		fmt.Fprintln(r.out, "The slowest tests:")
	}
	for _, one := range r.tests[:min(slowest, len(r.tests))] {
		fmt.Fprintf(r.out, "%7.1f s  %s\n", one.elapsed, one.name)
	}
	fmt.Fprintf(r.out, "Tests: %d, in packages: %d, seconds: %.0f; %.0f s of CPU for builds and tests, without PostgreSQL; %d skipped\n",
		len(r.tests), len(r.ended), time.Since(r.begun).Seconds(), r.cpu.Seconds(), len(r.skipped))
}
