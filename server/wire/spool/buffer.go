package spool

import (
	"io"
	"os"
	"sync"
)

const (
	firstChunk = 4 << 10
	chunkSize  = 32 << 10
	// FreeBytes is the size of a response that stays in memory without being charged while it is produced,
	// so that small responses are never rejected then.
	FreeBytes = firstChunk + chunkSize
)

// Pools of chunks. The garbage collector frees those that stay unused.
var (
	firstChunks = sync.Pool{New: func() any { return new([firstChunk]byte) }}
	chunks      = sync.Pool{New: func() any { return new([chunkSize]byte) }}
)

func putChunk(chunk []byte) {
	switch cap(chunk) {
	case firstChunk:
		firstChunks.Put((*[firstChunk]byte)(chunk[:firstChunk]))
	case chunkSize:
		chunks.Put((*[chunkSize]byte)(chunk[:chunkSize]))
	}
}

// Buffer is one response. Only one goroutine at a time may use it.
type Buffer struct {
	of *Spool
	// file contains the bytes before the chunks; nil: the chunks are the whole response.
	file   *os.File
	inFile int64
	chunks [][]byte
	// charged is the memory charged for the response, held the part of it charged while the response waits
	// for its client, and reserved the file space charged for it, all in bytes.
	charged, held, reserved int64
	err                     error
}

// NewBuffer returns an empty response. The caller must Close it.
func (s *Spool) NewBuffer() *Buffer { return &Buffer{of: s} }

// Len returns the number of bytes in the response.
func (b *Buffer) Len() int64 {
	size := b.inFile
	for _, chunk := range b.chunks {
		size += int64(len(chunk))
	}
	return size
}

// Write appends to the response. An *Error means that the spool is full; the response is then unusable.
func (b *Buffer) Write(p []byte) (int, error) {
	written := 0
	for b.err == nil && len(p) > 0 {
		last := len(b.chunks) - 1
		if last < 0 || len(b.chunks[last]) == cap(b.chunks[last]) {
			b.err = b.grow()
			continue
		}
		chunk := b.chunks[last]
		n := copy(chunk[len(chunk):cap(chunk)], p)
		b.chunks[last] = chunk[:len(chunk)+n]
		p = p[n:]
		written += n
	}
	return written, b.err
}

// grow allocates space for at least one byte.
func (b *Buffer) grow() error {
	switch {
	case b.file != nil:
		return b.flush()
	case len(b.chunks) == 0:
		b.chunks = append(b.chunks, firstChunks.Get().(*[firstChunk]byte)[:0])
		return nil
	case len(b.chunks) == 1:
	case b.of.dir != "" && b.charged >= maxInMemory || !b.of.memory.take(chunkSize, b.of.producers):
		return b.spill()
	default:
		b.charged += chunkSize
	}
	b.chunks = append(b.chunks, chunks.Get().(*[chunkSize]byte)[:0])
	return nil
}

// spill moves the response from memory to a file. It keeps one chunk for further bytes.
func (b *Buffer) spill() error {
	if b.of.dir == "" {
		return b.of.full(MemoryFull, nil)
	}
	if !b.of.files.take(fileStep, b.of.files.limit) {
		return b.of.full(FilesFull, nil)
	}
	b.reserved = fileStep
	file, err := b.of.create()
	if err != nil {
		return b.of.full(Disk, err)
	}
	b.file = file
	return b.flush()
}

// flush writes the chunks to the file.
func (b *Buffer) flush() error {
	for _, chunk := range b.chunks {
		for b.inFile+int64(len(chunk)) > b.reserved {
			if !b.of.files.take(fileStep, b.of.files.limit) {
				return b.of.full(FilesFull, nil)
			}
			b.reserved += fileStep
		}
		n, err := b.file.Write(chunk)
		b.inFile += int64(n)
		if err != nil {
			return b.of.full(Disk, err)
		}
	}
	keep := b.chunks[len(b.chunks)-1]
	for _, chunk := range b.chunks[:len(b.chunks)-1] {
		putChunk(chunk)
	}
	b.chunks = append(b.chunks[:0], keep[:0])
	b.of.memory.give(b.charged)
	b.charged = 0
	return nil
}

// Hold charges the memory that was free of charge while the response was produced, and the overhead of
// waiting for a client. It reports whether the spool had enough free memory. Call it after the last Write.
func (b *Buffer) Hold() bool {
	if b.file != nil {
		b.of.inFile.Add(1)
	} else if b.charged > 0 {
		b.of.inMemory.Add(1)
	}
	uncharged := int64(overhead)
	for i, chunk := range b.chunks {
		if i < 2 {
			uncharged += int64(cap(chunk))
		}
	}
	if b.file != nil {
		uncharged += chunkSize // to copy the file
	}
	if !b.of.memory.take(uncharged, b.of.memory.limit) {
		return false
	}
	b.held = uncharged
	return true
}

// WriteTo writes the response, and releases its memory as it proceeds. An *Error means that the file could
// not be read; any other error is that of the Writer.
func (b *Buffer) WriteTo(to io.Writer) (written int64, err error) {
	if b.file != nil {
		if written, err = b.copyFile(to); err != nil {
			return written, err
		}
	}
	for len(b.chunks) > 0 {
		chunk := b.chunks[0]
		n, err := to.Write(chunk)
		written += int64(n)
		if err != nil {
			return written, err
		}
		b.chunks = b.chunks[1:]
		putChunk(chunk)
		if b.charged > 0 {
			b.of.memory.give(chunkSize)
			b.charged -= chunkSize
		}
	}
	return written, nil
}

// copyFile writes the contents of the file. An error of the disk is an *Error.
func (b *Buffer) copyFile(to io.Writer) (written int64, err error) {
	through := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(through)
	for written < b.inFile {
		part := through[:min(chunkSize, b.inFile-written)]
		if n, err := b.file.ReadAt(part, written); n < len(part) {
			return written, &Error{Reason: Disk, Cause: err}
		}
		n, err := to.Write(part)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Close releases everything that the response was charged. Further calls have no effect.
func (b *Buffer) Close() {
	for _, chunk := range b.chunks {
		putChunk(chunk)
	}
	b.chunks = nil
	b.of.memory.give(b.charged + b.held)
	b.of.files.give(b.reserved)
	b.charged, b.held, b.reserved = 0, 0, 0
	if b.file != nil {
		_ = b.file.Close() // an unlinked file that was only read
		b.file, b.inFile = nil, 0
	}
}
