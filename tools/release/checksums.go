package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// signatureNamespace is the purpose in a signature: ssh-keygen rejects a signature of another purpose.
const signatureNamespace = "berth-release"

// readableKey returns the absolute path of an SSH key that this process can read.
func readableKey(path string) (string, error) {
	if _, err := os.ReadFile(path); err != nil {
		return "", fmt.Errorf("cannot read the key for signatures: %w", err)
	}
	return filepath.Abs(path)
}

// writeChecksums writes SHA256SUMS over all files, and its signature if there is a key.
func (r *release) writeChecksums(ctx context.Context) error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	path := filepath.Join(r.out, "SHA256SUMS")
	if err := os.WriteFile(path, sums.Bytes(), 0o644); err != nil {
		return err
	}
	if r.key == "" {
		r.report("SHA256SUMS has no signature; KEY= names an SSH key")
		return nil
	}
	if _, err := command(ctx, r.out, nil, "ssh-keygen", "-q", "-Y", "sign", "-n", signatureNamespace, "-f", r.key, path); err != nil {
		return fmt.Errorf("cannot sign SHA256SUMS with %s: %s", r.key, strings.TrimSpace(err.Error()))
	}
	return nil
}
