package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// completions are the files of each shell, below r.stage.
var completions = map[string]string{"bash": "completion.bash", "zsh": "completion.zsh", "fish": "completion.fish"}

// generate runs the program to write manual pages and completions to r.stage, and the archive of OpenAPI documents.
func (r *release) generate(ctx context.Context) error {
	berth, err := r.runnable(ctx)
	if err != nil {
		return err
	}
	berthCommand := func(arguments ...string) ([]byte, error) {
		return command(ctx, r.stage, []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.date.Unix(), 10)}, berth, arguments...)
	}
	if _, err := berthCommand("man", "--all", filepath.Join(r.stage, "man")); err != nil {
		return err
	}
	for shell, name := range completions {
		script, err := berthCommand("completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.stage, name), script, 0o644); err != nil {
			return err
		}
	}
	documents := filepath.Join(r.stage, "openapi")
	// The directories are those of `make documents`.
	for _, arguments := range [][]string{
		{"--all", filepath.Join(documents, "placement")},
		{"--api", "baremetal", "--all", filepath.Join(documents, "baremetal")},
		{"--berth", "latest", "--all", filepath.Join(documents, "berth", "placement")},
		{"--api", "baremetal", "--berth", "latest", "--all", filepath.Join(documents, "berth", "baremetal")},
	} {
		if _, err := berthCommand(append([]string{"openapi"}, arguments...)...); err != nil {
			return err
		}
	}
	stamp := fmt.Sprintf("berth %s, commit %s, %s\n", r.tag(), r.commit, r.date.Format("2006-01-02"))
	if err := os.WriteFile(filepath.Join(documents, "VERSION"), []byte(stamp), 0o644); err != nil {
		return err
	}
	return r.writeArchive(documents, "berth-openapi-"+r.version, r.file("openapi.tar.gz"))
}

// writeArchive writes the files of a directory to a compressed tar file, below the directory prefix, in the order of
// their names and with the time of the commit.
func (r *release) writeArchive(directory, prefix, path string) error {
	var packed bytes.Buffer
	compressed := newGzip(&packed)
	archive := tar.NewWriter(compressed)
	err := filepath.WalkDir(directory, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(directory, name)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return appendFile(archive, filepath.ToSlash(filepath.Join(prefix, relative)), content, 0o644, r.date)
	})
	if err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o644)
}

// appendFile appends a file of root to a tar file.
func appendFile(archive *tar.Writer, name string, content []byte, mode int64, date time.Time) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: mode, ModTime: date, Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}

// newGzip returns a writer with the best compression and a header without name and time.
func newGzip(w io.Writer) *gzip.Writer {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		panic(err) // The level is a constant.
	}
	return compressed
}

// compress returns the content as gzip -n -9 does.
func compress(content []byte) ([]byte, error) {
	var packed bytes.Buffer
	compressed := newGzip(&packed)
	if _, err := compressed.Write(content); err != nil {
		return nil, err
	}
	err := compressed.Close()
	return packed.Bytes(), err
}
