package open

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/config"
)

func TestLog_FileRenamed_Reopened(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "berth.log")
	log, err := openLogFile(name)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	write := func(line string) {
		log.checked = time.Time{} // as if a second had passed
		if _, err := log.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	write("two\n")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	write("three\n")
	for file, want := range map[string]string{name + ".1": "one\n", name: "three\n"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v", file, got, err)
		}
	}
}

func TestLog_ReopenFails_KeepsOldFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := openLogFile(filepath.Join(dir, "berth.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	log.checked = time.Time{}
	if _, err := log.Write([]byte("still\n")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir+".moved", "berth.log")); err != nil || string(got) != "still\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLog_FileNotWritable_ErrorNamesSetting(t *testing.T) {
	t.Parallel()
	_, _, err := Log(&config.Settings{ObservabilitySettings: config.ObservabilitySettings{LogFile: filepath.Join(t.TempDir(), "none", "berth.log")}}, os.Stderr)
	if err == nil || !strings.Contains(err.Error(), "--log-file") {
		t.Errorf("got %v", err)
	}
}

func TestLog_OsloFormat_MatchesOpenStackServices(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := Logger(&config.Settings{LogFormat: config.LogOslo, LogLevel: "info"}, &out)
	log.Debug("not told")
	log.Warn("a planner setting\nis missing", "found", "auto", "why", "a pooler \"took\" it", "logger", "berth.store")
	want := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ WARNING berth\.store \[-\] a planner setting\\nis missing found=auto why="a pooler \\"took\\" it"\n$`)
	if !want.MatchString(out.String()) {
		t.Errorf("the line is %q", out.String())
	}
}
