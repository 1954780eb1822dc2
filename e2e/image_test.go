//go:build client

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// imageArchive is an OCI image layout in a tar file, such as a release contains, whose image is run instead of that of
// the Dockerfile.
var imageArchive = flag.String("image", "", "OCI image archive to run; default: the image of docs/deploy/Dockerfile")

// imageVersion is the version with which the test builds the Dockerfile.
const imageVersion = "v0.0.0-test"

// image is a container image: a root directory and what its configuration says about processes.
type image struct {
	root             string
	environment      []string
	entry, arguments []string
	user             string
}

// build executes the instructions of the Dockerfile. This machine stands in for its first stage.
func build(t *testing.T) *image {
	t.Helper()
	sources, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	first, made, stage := t.TempDir(), &image{root: t.TempDir()}, 0
	environment := append(os.Environ(), "VERSION="+imageVersion)
	for _, line := range dockerfile(t) {
		switch words := strings.Fields(line.arguments); {
		case line.name == "FROM":
			stage++
			if stage == 2 && line.arguments != "scratch" {
				t.Fatalf("the last stage begins with %s, want scratch", line.arguments)
			}
		case stage == 1 && line.name == "ENV":
			environment = append(environment, words...)
		case stage == 1 && line.name == "RUN":
			command := exec.Command("sh", "-ec", strings.ReplaceAll(line.arguments, "/out/", first+"/"))
			command.Dir, command.Env = sources, environment
			if out, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line.arguments, err, out)
			}
		case stage == 1: // WORKDIR, COPY and ARG: the sources and the version are here
		default:
			made.execute(t, line, first)
		}
	}
	return made
}

// execute executes an instruction of the last stage. Directory built has the files of the first stage.
func (i *image) execute(t *testing.T, line instruction, built string) {
	t.Helper()
	switch words := strings.Fields(line.arguments); {
	case line.name == "COPY" && len(words) == 3 && words[0] == "--from=build":
		copyInto(t, i.root, strings.Replace(words[1], "/out/", built+"/", 1), words[2])
	case line.name == "USER":
		i.user = line.arguments
	case line.name == "ENV":
		i.environment = append(i.environment, words...)
	case line.name == "ENTRYPOINT":
		decodeJSON(t, []byte(line.arguments), &i.entry)
	case line.name == "CMD":
		decodeJSON(t, []byte(line.arguments), &i.arguments)
	case line.name != "EXPOSE":
		t.Fatalf("this test cannot execute %s %s", line.name, line.arguments)
	}
}

func copyInto(t *testing.T, root, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to = filepath.Join(root, to)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

// descriptor is a reference of the OCI image format to a file of the archive.
type descriptor struct {
	Digest   string
	Platform struct{ OS, Architecture string }
}

// unpack returns the image for linux/amd64 of an archive.
func unpack(t *testing.T, archive string) *image {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	files := map[string][]byte{}
	eachFile(t, file, func(header *tar.Header, content []byte) { files[header.Name] = content })
	blob := func(d descriptor) []byte { return files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)] }
	document := files["index.json"]
	var manifest struct {
		Manifests, Layers []descriptor
		Config            descriptor
	}
	for decodeJSON(t, document, &manifest); len(manifest.Layers) == 0; decodeJSON(t, document, &manifest) {
		chosen := manifest.Manifests[0]
		for _, one := range manifest.Manifests {
			if one.Platform.OS == "linux" && one.Platform.Architecture == "amd64" {
				chosen = one
			}
		}
		document, manifest.Manifests = blob(chosen), nil
	}
	var configured struct {
		Config struct {
			User                 string
			Env, Entrypoint, Cmd []string
		}
	}
	decodeJSON(t, blob(manifest.Config), &configured)
	found := configured.Config
	made := &image{root: t.TempDir(), environment: found.Env, entry: found.Entrypoint, arguments: found.Cmd, user: found.User}
	for _, layer := range manifest.Layers {
		made.apply(t, blob(layer))
	}
	return made
}

// apply unpacks a layer, compressed or not, into the root directory.
func (i *image) apply(t *testing.T, layer []byte) {
	t.Helper()
	var reader io.Reader = bytes.NewReader(layer)
	if bytes.HasPrefix(layer, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(reader)
		if err != nil {
			t.Fatal(err)
		}
		reader = unzipped
	}
	eachFile(t, reader, func(header *tar.Header, content []byte) {
		if header.Typeflag != tar.TypeReg {
			return
		}
		at := filepath.Join(i.root, filepath.Clean("/"+header.Name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, content, header.FileInfo().Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	})
}

// eachFile calls do for every entry of a tar archive.
func eachFile(t *testing.T, from io.Reader, do func(*tar.Header, []byte)) {
	t.Helper()
	for archive := tar.NewReader(from); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		do(header, content)
	}
}

func decodeJSON(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v in %.200q", err, text)
	}
}
