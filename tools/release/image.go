package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageConfig is the configuration of docs/deploy/Dockerfile; a test compares both.
var imageConfig = v1.Config{
	User:         "65532:65532",
	ExposedPorts: map[string]struct{}{"8778/tcp": {}},
	Env:          []string{"BERTH_LISTEN=:8778", "BERTH_LOG_FORMAT=json"},
	Entrypoint:   []string{"/berth"},
	Cmd:          []string{"serve"},
}

const certificatesFile = "etc/ssl/certs/ca-certificates.crt"

// writeImage writes the image of all architectures as an archive with an OCI image layout.
func (r *release) writeImage(context.Context) error {
	directory := filepath.Join(r.stage, "image")
	path, err := layout.Write(directory, empty.Index)
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		image, err := r.image(arch)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	index = mutate.Annotations(index, r.labels()).(v1.ImageIndex)
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})); err != nil {
		return err
	}
	return r.archiveLayout(directory)
}

// image returns the image of one architecture: a layer with the certificates of authorities and one with the program.
func (r *release) image(arch string) (v1.Image, error) {
	program, err := os.ReadFile(r.program(arch))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	config := &v1.ConfigFile{Architecture: arch, OS: "linux", Created: v1.Time{Time: r.date}, Config: imageConfig, RootFS: v1.RootFS{Type: "layers"}}
	config.Config.Labels = r.labels()
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	for _, file := range []struct {
		name    string
		content []byte
		mode    int64
	}{{certificatesFile, certificates(), 0o644}, {"berth", program, 0o755}} {
		layer, err := r.layer(file.name, file.content, file.mode)
		if err != nil {
			return nil, err
		}
		history := v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "COPY /" + file.name}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: history, MediaType: types.OCILayer}); err != nil {
			return nil, err
		}
	}
	return image, nil
}

// labels returns the annotations that the OCI image specification defines.
func (r *release) labels() map[string]string {
	const source = "https://github.com/berthd/berth"
	return map[string]string{
		"org.opencontainers.image.title":         "berth",
		"org.opencontainers.image.description":   "Serves the Placement and Bare Metal APIs on PostgreSQL",
		"org.opencontainers.image.version":       r.version,
		"org.opencontainers.image.revision":      r.commit,
		"org.opencontainers.image.created":       r.date.Format(time.RFC3339),
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.url":           source,
		"org.opencontainers.image.source":        source,
		"org.opencontainers.image.documentation": source + "/tree/" + r.tag() + "/docs",
	}
}

// certificates returns the roots of Mozilla's store in PEM, from the Go team's module. It leaves out roots that Mozilla
// trusts for older certificates only, because a PEM file cannot state that.
func certificates() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// A bytes.Buffer returns no errors.
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return text.Bytes()
}

// layer returns a compressed layer with one file of root and its directories.
func (r *release) layer(name string, content []byte, mode int64) (v1.Layer, error) {
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	var parents []string
	for parent := filepath.Dir(name); parent != "."; parent = filepath.Dir(parent) {
		parents = append(parents, parent)
	}
	for _, parent := range slices.Backward(parents) {
		header := &tar.Header{Typeflag: tar.TypeDir, Name: parent + "/", Mode: 0o755, ModTime: r.date, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
	}
	if err := appendFile(archive, name, content, mode, r.date); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// archiveLayout writes the directory of an image layout to an archive. The description of the layout comes first, and
// the files in the order of their names.
func (r *release) archiveLayout(directory string) error {
	file, err := os.Create(r.file("oci.tar"))
	if err != nil {
		return err
	}
	defer file.Close()
	archive := tar.NewWriter(file)
	blobs, err := filepath.Glob(filepath.Join(directory, "blobs", "sha256", "*"))
	if err != nil {
		return err
	}
	for _, path := range append([]string{filepath.Join(directory, "oci-layout"), filepath.Join(directory, "index.json")}, blobs...) {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}
		if err := appendFile(archive, filepath.ToSlash(name), content, 0o644, r.date); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return file.Close()
}
