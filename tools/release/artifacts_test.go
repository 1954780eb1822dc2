package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// unpacked returns the contents of the regular files of a tar file, by name.
func unpacked(t *testing.T, reader io.Reader) map[string]string {
	t.Helper()
	found := map[string]string{}
	for archive := tar.NewReader(reader); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			found[header.Name] = string(content)
		}
	}
}

// dockerfileConfig returns the configuration that the last stage of docs/deploy/Dockerfile gives an image.
func dockerfileConfig(t *testing.T) v1.Config {
	t.Helper()
	text, err := os.ReadFile("../../docs/deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, last, ok := strings.Cut(string(text), "\nFROM scratch\n")
	if !ok {
		t.Fatal("the last stage of the Dockerfile is not FROM scratch")
	}
	var config v1.Config
	for line := range strings.Lines(last) {
		name, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
		var list []string
		if strings.HasPrefix(arguments, "[") {
			if err := json.Unmarshal([]byte(arguments), &list); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		switch name {
		case "USER":
			config.User = arguments
		case "EXPOSE":
			config.ExposedPorts = map[string]struct{}{arguments + "/tcp": {}}
		case "ENV":
			config.Env = append(config.Env, strings.Fields(arguments)...)
		case "ENTRYPOINT":
			config.Entrypoint = list
		case "CMD":
			config.Cmd = list
		case "COPY", "LABEL", "", "#":
		default:
			t.Fatalf("the test does not know %s %s", name, arguments)
		}
	}
	return config
}

// imageIndex unpacks the archive of the image and returns the index of all architectures.
func imageIndex(t *testing.T, b *built) v1.ImageIndex {
	t.Helper()
	file, err := os.Open(b.file("oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	directory := t.TempDir()
	for name, content := range unpacked(t, file) {
		write(t, filepath.Join(directory, name), content)
	}
	outer, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != b.version {
		t.Fatalf("index = %+v, %v, want one entry named %s", manifest, err, b.version)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestRelease_Image_MatchesDockerfile(t *testing.T) {
	b := firstBuild(t)
	index := imageIndex(t, b)
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != len(architectures) {
		t.Fatalf("images = %+v, %v, want %d", manifest, err, len(architectures))
	}
	want := dockerfileConfig(t)
	want.Labels = b.labels()
	for i, arch := range architectures {
		described := manifest.Manifests[i]
		image, err := index.Image(described.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if described.Platform.String() != "linux/"+arch || config.Architecture != arch || config.OS != "linux" || !config.Created.Equal(b.date) {
			t.Errorf("platform = %s, config = %s/%s of %s", described.Platform, config.OS, config.Architecture, config.Created)
		}
		if !reflect.DeepEqual(config.Config, want) {
			t.Errorf("config = %+v, want that of the Dockerfile: %+v", config.Config, want)
		}
		checkImageFiles(t, b, arch, image)
	}
}

// checkImageFiles checks that an image has the program of the release and certificates, and no other file.
func checkImageFiles(t *testing.T, b *built, arch string, image v1.Image) {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	found := unpacked(t, content)
	program, err := os.ReadFile(b.program(arch))
	if err != nil || len(found) != 2 || found["berth"] != string(program) {
		t.Errorf("%s: files = %d, program = %d bytes, want 2, %d; %v", arch, len(found), len(found["berth"]), len(program), err)
	}
	count := 0
	for rest := []byte(found[certificatesFile]); ; count++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err != nil || !certificate.IsCA {
			t.Errorf("certificate %d: %v, want one of an authority", count, err)
		}
	}
	if count < 50 {
		t.Errorf("certificates = %d, want at least 50", count)
	}
}

// bomSchema compiles the schema of CycloneDX, which its Go module contains.
func bomSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	out, err := command(t.Context(), "..", nil, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")
	if err != nil {
		t.Fatal(err)
	}
	directory := filepath.Join(strings.TrimSpace(string(out)), "schema")
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for url, name := range map[string]string{
		"http://cyclonedx.org/schema/bom-1.6.schema.json":  "bom-1.6.schema.json",
		"http://cyclonedx.org/schema/spdx.schema.json":     "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json": "jsf-0.82.schemax.json",
	} {
		text, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(url, document); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestRelease_BOM_ValidAndListsLinkedModules(t *testing.T) {
	b := firstBuild(t)
	schema := bomSchema(t)
	linked, err := b.linkedModules()
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range architectures {
		text, err := os.ReadFile(b.file("linux_" + arch + ".cdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%s: %v", arch, err)
		}
		var bom cdx.BOM
		if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, component := range *bom.Components {
			names = append(names, component.Name)
			isModule := strings.HasPrefix(component.PackageURL, "pkg:golang/") && component.Name != "stdlib"
			if isModule && (component.Properties == nil || !strings.HasPrefix((*component.Properties)[0].Value, "h1:")) {
				t.Errorf("%s: %s has no hash of go.sum", arch, component.Name)
			}
		}
		slices.Sort(names)
		others := []string{"stdlib", "htmx.org", "@fontsource/ibm-plex-mono", "@fontsource/ibm-plex-sans"}
		if want := slices.Sorted(slices.Values(append(others, linked...))); !slices.Equal(names, want) {
			t.Errorf("%s: components = %q, want %q", arch, names, want)
		}
		self := bom.Metadata.Component
		if want := "pkg:golang/github.com/berthd/berth@v" + b.version; self.PackageURL != want {
			t.Errorf("%s: purl = %s, want %s", arch, self.PackageURL, want)
		}
	}
}

// TestRelease_Checksums_VerifiedByOrdinaryTools executes the commands of docs/releasing.md.
func TestRelease_Checksums_VerifiedByOrdinaryTools(t *testing.T) {
	b := firstBuild(t)
	public, err := os.ReadFile(b.publicKey)
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(t.TempDir(), "allowed_signers")
	write(t, signers, "releases@berth "+string(public))
	verify := func(sums string) error {
		c := exec.Command("ssh-keygen", "-Y", "verify", "-f", signers, "-I", "releases@berth", "-n", "berth-release", "-s", "SHA256SUMS.sig")
		c.Dir, c.Stdin = b.out, strings.NewReader(sums)
		return c.Run()
	}
	sums, err := os.ReadFile(filepath.Join(b.out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(string(sums)); err != nil {
		t.Errorf("the signature is invalid: %v", err)
	}
	if err := verify(strings.Replace(string(sums), "a", "b", 1)); err == nil {
		t.Error("the signature of changed sums is valid")
	}
	out, err := command(t.Context(), b.out, nil, "sha256sum", "--strict", "--check", "SHA256SUMS")
	if checked := strings.Count(string(out), ": OK\n"); err != nil || checked != 11 {
		t.Errorf("checked files = %d, %v, want 11", checked, err)
	}
}

func TestRelease_Documents_AreThoseOfRepository(t *testing.T) {
	b := firstBuild(t)
	file, err := os.Open(b.file("openapi.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	found := unpacked(t, packed)
	prefix := "berth-openapi-" + b.version + "/"
	if want := "berth v" + b.version + ", commit " + b.commit + ", 2026-09-21\n"; found[prefix+"VERSION"] != want {
		t.Errorf("VERSION = %q, want %q", found[prefix+"VERSION"], want)
	}
	recorded, err := os.ReadFile("../../openapi/placement/1.39.json")
	if err != nil || found[prefix+"placement/1.39.json"] != string(recorded) {
		t.Errorf("placement/1.39.json = %d bytes, %v, want the %d of the repository", len(found[prefix+"placement/1.39.json"]), err, len(recorded))
	}
	for directory, least := range map[string]int{"placement/": 40, "baremetal/": 2, "berth/placement/": 1, "berth/baremetal/": 1} {
		count := 0
		for name := range found {
			if strings.HasPrefix(name, prefix+directory) {
				count++
			}
		}
		if count < least {
			t.Errorf("documents in %s = %d, want at least %d", directory, count, least)
		}
	}
}
