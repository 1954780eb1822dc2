package spool

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
)

// drawn returns random bytes.
func drawn(size int) []byte {
	made := make([]byte, size)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(made) // never fails
	return made
}

func open(t *testing.T, options Options) *Spool {
	t.Helper()
	made, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// fill writes in pieces, as operations do.
func fill(b *Buffer, content []byte, piece int) error {
	for len(content) > 0 {
		n := min(piece, len(content))
		if _, err := b.Write(content[:n]); err != nil {
			return err
		}
		content = content[n:]
	}
	return nil
}

func wantEmpty(t *testing.T, s *Spool) {
	t.Helper()
	if stat := s.Stat(); stat.Memory != 0 || stat.Files != 0 {
		t.Errorf("%d bytes of memory and %d of files are still charged", stat.Memory, stat.Files)
	}
}

func TestLimits_Spooled_IsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, firstChunk, firstChunk + 1, FreeBytes, FreeBytes + 1, maxInMemory, maxInMemory + 2*FreeBytes, 3*fileStep + 17} {
		for _, piece := range []int{600, 256 << 10} {
			s := open(t, Options{Memory: 16 << 20, Dir: t.TempDir(), FileBytes: 1 << 30})
			b, content := s.NewBuffer(), drawn(size)
			if err := fill(b, content, piece); err != nil {
				t.Fatal(err)
			}
			if b.Len() != int64(size) || !b.Hold() {
				t.Errorf("%d bytes: Len = %d, or Hold = false", size, b.Len())
			}
			if inFile := b.file != nil; inFile != (size > maxInMemory+FreeBytes) {
				t.Errorf("%d bytes: in a file: %t", size, inFile)
			}
			var read bytes.Buffer
			if n, err := b.WriteTo(&read); err != nil || n != int64(size) || !bytes.Equal(read.Bytes(), content) {
				t.Errorf("%d bytes in pieces of %d: %d read, %v", size, piece, n, err)
			}
			b.Close()
			b.Close()
			wantEmpty(t, s)
		}
	}
}

func TestLimits_SpoolFull_SmallAnswersPass(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options Options
		reason  Reason
	}{
		"memory": {Options{Memory: 1 << 20}, MemoryFull},
		"files":  {Options{Memory: 1 << 20, Dir: t.TempDir(), FileBytes: 2 * fileStep}, FilesFull},
	} {
		s := open(t, test.options)
		var open []*Buffer
		var err error
		for err == nil && len(open) < 100 {
			b := s.NewBuffer()
			open = append(open, b)
			err = fill(b, drawn(512<<10), 600)
		}
		full, ok := errors.AsType[*Error](err)
		if !ok || full.Reason != test.reason || s.Stat().Rejected[test.reason] != 1 {
			t.Errorf("%s: %v after %d answers, %+v", name, err, len(open), s.Stat())
		}
		if stat := s.Stat(); stat.Memory > stat.MemoryLimit || stat.Files > stat.FilesLimit {
			t.Errorf("%s: over the limits: %+v", name, stat)
		}
		small := s.NewBuffer()
		if err := fill(small, drawn(FreeBytes), 600); err != nil {
			t.Errorf("%s: a small answer: %v", name, err)
		}
		small.Close()
		for _, b := range open {
			b.Close()
		}
		wantEmpty(t, s)
	}
}

// TestLimits_SpoolFull_WaitingIsBounded checks that the memory limit bounds how many responses wait for
// their clients without a slot among the running requests.
func TestLimits_SpoolFull_WaitingIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Memory: 1 << 20})
	var held []*Buffer
	for {
		b := s.NewBuffer()
		if err := fill(b, drawn(100), 100); err != nil {
			t.Fatal(err)
		}
		held = append(held, b)
		if !b.Hold() {
			break
		}
	}
	if want := 1<<20/(firstChunk+overhead) + 1; len(held) != want {
		t.Errorf("response %d was rejected, want %d", len(held), want)
	}
	for _, b := range held {
		b.Close()
	}
	wantEmpty(t, s)
}

func TestLimits_SpoolOnDisk_LeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Options{Memory: 1 << 20, Dir: dir, FileBytes: 1 << 30})
	b := s.NewBuffer()
	defer b.Close()
	if err := fill(b, drawn(4<<20), 4096); err != nil || b.file == nil {
		t.Fatalf("%v, in a file: %t", err, b.file != nil)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestLimits_DiskFails_AnswerFails uses a file that accepts no bytes, as on a full disk.
func TestLimits_DiskFails_AnswerFails(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	s := open(t, Options{Memory: 1 << 20, Dir: t.TempDir(), FileBytes: 1 << 30})
	b := s.NewBuffer()
	if err := fill(b, drawn(1), 1); err != nil {
		t.Fatal(err)
	}
	b.file, b.reserved = full, fileStep
	s.files.take(fileStep, fileStep)
	err = fill(b, drawn(1<<20), 600)
	if failed, ok := errors.AsType[*Error](err); !ok || failed.Reason != Disk || failed.Cause == nil {
		t.Errorf("%v", err)
	}
	b.Close()
	wantEmpty(t, s)

	// A file that became shorter must not lead to a shorter response.
	b = s.NewBuffer()
	defer b.Close()
	if err := fill(b, drawn(4<<20), 4096); err != nil {
		t.Fatal(err)
	}
	if err := b.file.Truncate(1000); err != nil {
		t.Fatal(err)
	}
	if _, err := b.WriteTo(io.Discard); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	} else if failed, ok := errors.AsType[*Error](err); !ok || failed.Reason != Disk {
		t.Errorf("err = %v, want a *Error with reason Disk", err)
	}
}

func TestLimits_SpoolDirMissing_IsAnError(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{Dir: t.TempDir() + "/missing", FileBytes: 1}); err == nil {
		t.Error("err = nil")
	}
	if _, err := New(Options{Dir: t.TempDir() + "/missing"}); err != nil {
		t.Errorf("without files: %v", err)
	}
}

func TestLimits_SpoolShared_CountsToZero(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Memory: 1 << 20, Dir: t.TempDir(), FileBytes: 8 << 20})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				b := s.NewBuffer()
				content := drawn(rand.IntN(2 << 20))
				if fill(b, content, 1+rand.IntN(100_000)) == nil && b.Hold() && rand.IntN(4) > 0 {
					var read bytes.Buffer
					if _, err := b.WriteTo(&read); err != nil || !bytes.Equal(read.Bytes(), content) {
						t.Errorf("%d of %d bytes: %v", read.Len(), len(content), err)
					}
				}
				b.Close()
			}
		})
	}
	all.Wait()
	wantEmpty(t, s)
}
