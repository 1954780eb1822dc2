package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The server's log. PostgreSQL's logging collector writes it to files in logDir and begins another one when a file is
// large or a day old. The collector lives as long as the server, so a server whose owner was killed continues to log.
// This package deletes the oldest files beyond a limit. logFile contains what the server writes before the collector
// runs.

// DefaultLogMaxBytes limits the total size of the server's log files.
const DefaultLogMaxBytes = 100 << 20

const (
	// logParts is the number of files of a full log.
	logParts = 8
	// maxLogFiles limits the number of files: each start begins one.
	maxLogFiles = 200
	// logTrimInterval is the interval at which files beyond the limit are deleted.
	logTrimInterval = 5 * time.Second
	// maxLogTail limits how much of a log is read for the text of an error.
	maxLogTail = 64 << 10
	// logSettleTime is how long the collector may take to write the last lines of a server that exited. logQuiet is how
	// long a complete log has not grown.
	logSettleTime = time.Second
	logQuiet      = 100 * time.Millisecond
	// maxStartLog is the size at which a start renames logFile.
	maxStartLog = 8 << 20
)

// logFile returns the file for what the server writes before the collector runs.
func (h home) logFile() string { return filepath.Join(h.dir, "postgres.log") }

// putAsideLog returns the name to which openLog renames a large logFile.
func (h home) putAsideLog() string { return h.logFile() + ".1" }

// logDir returns a directory that belongs to the account of the server, inside a home that does not.
func (h home) logDir() string { return filepath.Join(h.dir, "postgres-log") }

// logSettings returns settings with which the collector writes to logDir. The file names are in the order of time,
// which is UTC.
func (h home) logSettings(maxBytes int64) map[string]string {
	// The maximum is 1 GB: the setting is an int32 of kilobytes.
	perFile := min(max(maxBytes/logParts>>10, 1), 1<<20)
	return map[string]string{
		"logging_collector":        "on",
		"log_destination":          "stderr",
		"log_directory":            h.logDir(),
		"log_filename":             "postgres-%Y%m%d-%H%M%S.log",
		"log_file_mode":            "0600",
		"log_rotation_age":         "1d",
		"log_rotation_size":        strconv.FormatInt(perFile, 10) + "kB",
		"log_truncate_on_rotation": "off",
	}
}

// makeLogDir creates logDir for the account that runs the server.
func (h home) makeLogDir() error {
	if err := os.Mkdir(h.logDir(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the directory of PostgreSQL's log: %w", err)
	}
	if err := h.own(h.logDir()); err != nil {
		return fmt.Errorf("change the owner of the directory of PostgreSQL's log: %w", err)
	}
	return nil
}

// openLog opens logFile for appending. It first renames a large one, which becomes the oldest file of the log.
func openLog(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Size() > maxStartLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("rename the log of PostgreSQL: %w", err)
		}
	}
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of PostgreSQL: %w", err)
	}
	return log, nil
}

// trimLog deletes the oldest files of the log beyond a number of bytes until the cluster is closed.
func (c *Cluster) trimLog(maxBytes int64) {
	failing := false
	for {
		err := c.home.trimLog(maxBytes)
		if err != nil && !failing {
			c.log.Warn("cannot delete old files of PostgreSQL's log", "directory", c.home.logDir(), "cause", err)
		}
		failing = err != nil
		if pause(c.closing, logTrimInterval) != nil {
			return
		}
	}
}

// trimLog keeps the newest file, which the collector is writing, even if it is too large.
func (h home) trimLog(maxBytes int64) error {
	files, err := h.logFiles()
	if err != nil {
		return err
	}
	var failed []error
	kept := int64(0)
	for i, file := range slices.Backward(files) {
		if age := len(files) - i; i == len(files)-1 || age <= maxLogFiles && kept+file.size <= maxBytes {
			kept += file.size
			continue
		}
		kept = maxBytes + 1 // delete all older files too
		if err := file.remove(h); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	// The server has it open, and appends.
	if info, err := os.Lstat(h.logFile()); err == nil && info.Mode().IsRegular() && info.Size() > maxBytes/logParts {
		failed = append(failed, os.Truncate(h.logFile(), 0))
	}
	return errors.Join(failed...)
}

// writtenLog is one file of the log.
type writtenLog struct {
	name    string // in logDir, or putAsideLog
	size    int64
	changed time.Time
}

// logFiles returns the files that may be deleted, the newest last.
func (h home) logFiles() ([]writtenLog, error) {
	entries, err := os.ReadDir(h.logDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var files []writtenLog
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, writtenLog{entry.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b writtenLog) int {
		return cmp.Or(a.changed.Compare(b.changed), cmp.Compare(a.name, b.name))
	})
	if info, err := os.Lstat(h.putAsideLog()); err == nil {
		files = slices.Insert(files, 0, writtenLog{h.putAsideLog(), info.Size(), info.ModTime()})
	}
	return files, nil
}

// remove never leaves logDir, in which the server's account may have created links.
func (w writtenLog) remove(h home) error {
	if w.name == h.putAsideLog() {
		return os.Remove(w.name)
	}
	root, err := os.OpenRoot(h.logDir())
	if err != nil {
		return err
	}
	return errors.Join(root.Remove(w.name), root.Close())
}

// logMark is the size of each file of the log at a point in time.
type logMark map[string]int64

func (h home) markLog() logMark {
	mark := logMark{}
	// A file that cannot be read is not shown either.
	files, _ := h.logFiles()
	for _, file := range files {
		mark[file.name] = file.size
	}
	if info, err := os.Lstat(h.logFile()); err == nil {
		mark[h.logFile()] = info.Size()
	}
	return mark
}

// awaitLog returns the last lines that a server that has exited logged after a mark. Its collector may still be writing
// them.
func (h home) awaitLog(ctx context.Context, since logMark) string {
	ctx, cancel := context.WithTimeout(ctx, logSettleTime)
	defer cancel()
	for tail := h.logSince(since); ; {
		if pause(ctx, logQuiet) != nil {
			return tail
		}
		later := h.logSince(since)
		if later == tail && later != "" {
			return tail
		}
		tail = later
	}
}

// logSince returns the last lines that were logged after a mark, those of the start first.
func (h home) logSince(since logMark) string {
	text := readTail(os.OpenFile, h.logFile(), since[h.logFile()])
	root, err := os.OpenRoot(h.logDir())
	if err != nil {
		return lastLines(text, 15)
	}
	defer root.Close()
	files, _ := h.logFiles()
	for _, file := range files {
		if file.name != h.putAsideLog() {
			text += readTail(root.OpenFile, file.name, since[file.name])
		}
	}
	return lastLines(text, 15)
}

// readTail returns the end of a file after an offset; empty if it cannot be read.
func readTail(open func(string, int, fs.FileMode) (*os.File, error), name string, offset int64) string {
	// O_NONBLOCK avoids waiting for a writer if the file is a pipe.
	file, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() <= offset {
		return ""
	}
	text, _ := io.ReadAll(io.NewSectionReader(file, max(offset, info.Size()-maxLogTail), maxLogTail))
	return strings.ToValidUTF8(string(text), "?")
}
