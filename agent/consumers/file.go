package consumers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/exactjson"
)

// File is a source that reads the shares of consumers from a JSON file by an operator or another program:
//
//	{
//	  "0d9c7b3a-7a3c-4b52-9d4f-6f1f0f3f4a11": [
//	    {"device": "numa:0", "resources": {"VCPU": 2, "MEMORY_MB": 1024}}
//	  ]
//	}
//
// An error anywhere in the file is an error for every consumer, because a reshape with a part of the file would place
// consumers incorrectly.
type File struct {
	path string

	mutex   sync.Mutex
	entries map[uuid.UUID][]Share
}

// NewFile returns a File with this path. It reads the file at the first call of Shares in each attempt.
func NewFile(path string) *File { return &File{path: path} }

// Begin implements Attempt: the next call of Shares reads the file again.
func (f *File) Begin() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.entries = nil
}

// Shares implements Source. A consumer whose entry has none of the requested classes is unknown.
func (f *File) Shares(_ context.Context, consumer uuid.UUID, have client.Resources) ([]Share, bool, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.entries == nil {
		entries, err := readFile(f.path)
		if err != nil {
			return nil, false, err
		}
		f.entries = entries
	}
	parts := map[string]client.Resources{}
	for _, share := range f.entries[consumer] {
		for class, amount := range share.Resources {
			if _, requested := have[class]; requested {
				add(parts, share.Device, class, amount)
			}
		}
	}
	shares := sorted(parts)
	return shares, len(shares) > 0, nil
}

// readFile reads and parses a file.
func readFile(path string) (map[uuid.UUID][]Share, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the shares of consumers: %w", err)
	}
	entries, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return entries, nil
}

// parse parses the content of a file and validates it.
func parse(content []byte) (map[uuid.UUID][]Share, error) {
	var document map[string][]Share
	if err := exactjson.UnmarshalStrict(content, &document); err != nil {
		return nil, located(content, err)
	}
	if document == nil {
		return nil, errors.New("the file contains null; write an object of consumers, {} for none")
	}
	entries := make(map[uuid.UUID][]Share, len(document))
	for _, key := range sortedKeys(document) {
		consumer, err := uuid.Parse(key)
		if err != nil {
			return nil, fmt.Errorf("%q is not a UUID of a consumer", key)
		}
		if _, duplicate := entries[consumer]; duplicate {
			return nil, fmt.Errorf("consumer %s has two entries; write all its shares in one", consumer)
		}
		if err := check(document[key]); err != nil {
			return nil, fmt.Errorf("consumer %s: %w", consumer, err)
		}
		entries[consumer] = document[key]
	}
	return entries, nil
}

var className = regexp.MustCompile(`^[A-Z0-9_]+$`)

// check validates the shares of one consumer.
func check(shares []Share) error {
	if len(shares) == 0 {
		return errors.New("the entry has no shares; write a share or omit the consumer")
	}
	devices := map[string]bool{}
	for at, share := range shares {
		switch {
		case share.Device == "":
			return fmt.Errorf("share %d names no device; write a device, for example numa:0", at+1)
		case devices[share.Device]:
			return fmt.Errorf("device %s appears twice; write its resources in one share", share.Device)
		case len(share.Resources) == 0:
			return fmt.Errorf("device %s has no resources; write an amount or omit the share", share.Device)
		}
		devices[share.Device] = true
		for _, class := range sortedKeys(share.Resources) {
			if !className.MatchString(class) {
				return fmt.Errorf("device %s: %q is not a valid resource class; use capital letters, digits and _", share.Device, class)
			}
			if amount := share.Resources[class]; amount < 1 {
				return fmt.Errorf("device %s: %d of %s is not a positive amount", share.Device, amount, class)
			}
		}
	}
	return nil
}

// located adds the line to an error of the decoder, if the error has an offset.
func located(content []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input":
		return errors.New("unexpected end of file; check that the file is complete")
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", lineOf(content, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("line %d: %s cannot be a JSON %s", lineOf(content, kind.Offset), strings.TrimPrefix(kind.Field, "."), kind.Value)
	}
	return err
}

// lineOf returns the line of an offset, counted from 1.
func lineOf(content []byte, offset int64) int {
	return 1 + bytes.Count(content[:min(int(offset), len(content))], []byte("\n"))
}
