package cluster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server/data/cluster"
)

// TestCrash_ServerKilled_IsStartedAgain: the URL and the data stay the same.
func TestCrash_ServerKilled_IsStartedAgain(t *testing.T) {
	t.Parallel()
	dir := newHome(t)
	c := open(t, cluster.Options{Dir: dir, Restart: true})
	url := c.URL()
	execute(t, url, "CREATE TABLE cargo AS SELECT 'tea' AS name")
	kill(t, dir)
	for deadline := time.Now().Add(time.Minute); c.Restarts() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no restart of the server within a minute")
		}
	}
	if c.URL() != url {
		t.Errorf("URL = %s, want %s as before", c.URL(), url)
	}
	wantAnswer(t, url, "SELECT name FROM cargo", "tea")
	select {
	case <-c.Exited():
		t.Error("Exited is closed while the server runs")
	default:
	}
	closeCluster(t, c)
	<-c.Exited()
}

// TestCrash_ServerCannotStart_GivesUp: a failure for another reason than a full disk is final.
func TestCrash_ServerCannotStart_GivesUp(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	dir := newHome(t)
	c := open(t, cluster.Options{Dir: dir, Restart: true})
	control := filepath.Join(dir, "data", "global", "pg_control")
	if err := os.Remove(control); err != nil {
		t.Fatal(err)
	}
	kill(t, dir)
	select {
	case <-c.Exited():
	case <-time.After(5 * time.Minute):
		t.Fatal("Exited is not closed after five minutes")
	}
	if c.Restarts() != 0 {
		t.Errorf("Restarts = %d, want 0", c.Restarts())
	}
	closeCluster(t, c)
}

// TestCrash_ClosedWhileStarting_Ends: Close cancels a restart that waits.
func TestCrash_ClosedWhileStarting_Ends(t *testing.T) {
	t.Parallel()
	dir := newHome(t)
	c := open(t, cluster.Options{Dir: dir, Restart: true})
	kill(t, dir)
	closeCluster(t, c)
	<-c.Exited()
	if again := open(t, cluster.Options{Dir: dir}); again.Adopted() {
		t.Error("a server is running after Close")
	}
}

// TestSettings_ServerOfEarlierVersion_IsReplaced: an adopted server whose log grows without limit is restarted with the
// settings of this version.
func TestSettings_ServerOfEarlierVersion_IsReplaced(t *testing.T) {
	t.Parallel()
	dir := newHome(t)
	owner, url, _ := startOwner(t, dir, "logging_collector=off")
	wantAnswer(t, url, "SHOW logging_collector", "off")
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	c := open(t, cluster.Options{Dir: dir})
	if c.Adopted() {
		t.Error("the server of an earlier version is adopted")
	}
	for query, want := range map[string]string{
		"SHOW logging_collector": "on", "SHOW log_error_verbosity": "terse", "SHOW log_min_error_statement": "fatal",
		"SHOW log_directory": filepath.Join(dir, "postgres-log"), "SHOW log_rotation_size": "12800kB",
	} {
		wantAnswer(t, c.URL(), query, want)
	}
}

// TestSettings_LogMaxBytes_BoundsTheLog: the log of an earlier version is among the deleted files; links that the
// server's account may have created are not followed.
func TestSettings_LogMaxBytes_BoundsTheLog(t *testing.T) {
	t.Parallel()
	dir := newHome(t)
	closeCluster(t, open(t, cluster.Options{Dir: dir}))
	logs := filepath.Join(dir, "postgres-log")
	old := time.Now().Add(-time.Hour)
	for name, size := range map[string]int{"../postgres.log": 10 << 20, "postgres-1.log": 900 << 10, "postgres-2.log": 900 << 10} {
		write(t, filepath.Join(logs, name), strings.Repeat("x", size))
		if err := os.Chtimes(filepath.Join(logs, name), old, old); err != nil {
			t.Fatal(err)
		}
		old = old.Add(time.Minute)
	}
	precious := filepath.Join(t.TempDir(), "precious")
	write(t, precious, strings.Repeat("x", 2<<20))
	if err := os.Symlink(precious, filepath.Join(logs, "postgres-3.log")); err != nil {
		t.Fatal(err)
	}
	open(t, cluster.Options{Dir: dir, LogMaxBytes: 1 << 20})
	sum := func() (bytes int64) {
		for _, pattern := range []string{"postgres.log*", "postgres-log/*"} {
			files, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if info, err := os.Lstat(file); err == nil {
					bytes += info.Size()
				}
			}
		}
		return bytes
	}
	for deadline := time.Now().Add(time.Minute); sum() > 1<<20; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log has %d bytes after a minute, want at most %d", sum(), 1<<20)
		}
	}
	if info, err := os.Stat(precious); err != nil || info.Size() != 2<<20 {
		t.Errorf("a file outside the log has changed: %v", err)
	}
}
