//go:build client

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

// TestDocs_ShellGuides_PrintDocumentedOutput types the commands of the guides into a shell, each with an empty database,
// and compares their output. With -update it writes the output into the guides. The guides start a server themselves;
// the README expects one.
func TestDocs_ShellGuides_PrintDocumentedOutput(t *testing.T) {
	t.Parallel()
	for _, guide := range []string{"reshape", "baremetal", "why-nothing-fits", "what-is-left", "history", "reconciling", "running-jobs", "tokens", "tutorial-gpu-hosts"} {
		t.Run(guide, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t)
			typeGuide(t, "../docs/"+guide+".md", "BERTH_DATABASE_URL="+dbtest.NewEmpty(t).URL,
				"BERTH_LISTEN="+address, "BERTH_URL=http://"+address)
		})
	}
	t.Run("searching", func(t *testing.T) {
		t.Parallel()
		const page = "../docs/searching.md"
		address := freeAddress(t)
		proxy := newCandidateProxy(t, address)
		typeGuide(t, page, "BERTH_DATABASE_URL="+dbtest.NewEmpty(t).URL, "BERTH_LISTEN="+address, "BERTH_URL="+proxy.url)
		proxy.compare(t, page)
	})
	t.Run("tutorial-call-from-program", func(t *testing.T) {
		t.Parallel()
		typeProgramTutorial(t)
	})
	t.Run("tutorial-replace-placement", func(t *testing.T) {
		t.Parallel()
		typeReplaceTutorial(t)
	})
	t.Run("README", func(t *testing.T) {
		t.Parallel()
		typeGuide(t, "../README.md", "BERTH_URL="+serve(t))
	})
}

// typeProgramTutorial runs the tutorial for programs in a directory with the compiler of TypeScript.
func typeProgramTutorial(t *testing.T) {
	t.Helper()
	project := typescriptProject(t, "e2e/typescript")
	programs := t.TempDir()
	if err := os.Symlink(python, filepath.Join(programs, "python3")); err != nil {
		t.Fatal(err)
	}
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	typeGuideIn(t, project.folder, "../docs/tutorial-call-from-program.md",
		"PATH="+programs+":"+filepath.Dir(program)+":"+os.Getenv("PATH"), "CLONE="+clone,
		"BERTH_DATABASE_URL="+dbtest.NewEmpty(t).URL, "BERTH_LISTEN="+address, "BERTH_URL=http://"+address)
}

// typeGuide runs the commands of a page in a shell with the given environment variables and compares their output.
func typeGuide(t *testing.T, guide string, env ...string) {
	t.Helper()
	typeGuideIn(t, t.TempDir(), guide, env...)
}

// fileBlock is a program of a page; its language precedes the name of its file.
var fileBlock = regexp.MustCompile("(?ms)^```(?:go|py|ts) (\\S+)\n(.*?)^```$")

// typeGuideIn is typeGuide in a directory, into which it writes the programs of the page.
func typeGuideIn(t *testing.T, directory, guide string, env ...string) {
	t.Helper()
	text := readText(t, guide)
	for _, file := range fileBlock.FindAllStringSubmatch(text, -1) {
		if err := os.WriteFile(filepath.Join(directory, file[1]), []byte(file[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	blocks := steps(t, text)
	const mark = "=== the end of a step ==="
	var script strings.Builder
	for _, block := range blocks {
		script.WriteString(block.commands + "echo '" + mark + "'\n")
	}
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "sh", "-eu")
	shell.Dir = directory
	shell.Env = append(withoutSettings(os.Environ()), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	shell.Env = append(shell.Env, env...)
	shell.Stdin = strings.NewReader(script.String())
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := shell.CombinedOutput()
	if err != nil && shell.Process != nil {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGTERM) // the server of a guide that ended early
	}
	printed := strings.Split(string(output), mark+"\n")
	if err != nil || len(printed) != len(blocks)+1 {
		t.Fatalf("shell: error = %v, output:\n%s", err, output)
	}
	rewrite(t, guide, text, blocks, func(i int) string { return printed[i] })
}
