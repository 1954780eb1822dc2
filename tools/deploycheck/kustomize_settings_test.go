package deploycheck

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestDocs_Kubernetes_SettingsValid creates the files of an overlay's volumes below a directory, and checks the settings
// of the server with the paths changed to that.
func TestDocs_Kubernetes_SettingsValid(t *testing.T) {
	t.Parallel()
	directories, err := filepath.Glob(overlays + "/*")
	if err != nil || len(directories) == 0 {
		t.Fatalf("overlays = %q, %v", directories, err)
	}
	for _, directory := range directories {
		t.Run(filepath.Base(directory), func(t *testing.T) {
			o := kustomize(t, directory)
			file := filepath.Join(directory, "kustomization.yaml")
			secrets := documentedSecrets(t, file)
			for _, words := range regexp.MustCompile(`(?m)^#   berth (.*)$`).FindAllStringSubmatch(readFile(t, file), -1) {
				checkCommand(t, strings.Fields(words[1]))
			}
			for _, c := range o.containers() {
				environment, arguments := o.materialize(t, &c, secrets)
				checkCommand(t, arguments)
				checkNames(t, environment)
				if arguments[0] == "serve" {
					checkServer(t, environment, arguments)
					checkFiles(t, environment)
					checkScheme(t, &c, environment)
				}
				checkDatabase(t, environment)
			}
			o.checkSpool(t)
		})
	}
}

// checkFiles checks that the files exist which settings name.
func checkFiles(t *testing.T, environment []string) {
	t.Helper()
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(value, "/") {
			continue
		}
		if _, err := os.Stat(value); err != nil {
			t.Errorf("%s: no volume has it: %v", name, err)
		}
	}
}

// checkScheme checks that the probes use TLS if the server does.
func checkScheme(t *testing.T, c *corev1.Container, environment []string) {
	t.Helper()
	var want corev1.URIScheme
	if slices.ContainsFunc(environment, func(variable string) bool { return strings.HasPrefix(variable, "BERTH_TLS_CERT=") }) {
		want = corev1.URISchemeHTTPS
	}
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		if probe.HTTPGet.Scheme != want {
			t.Errorf("scheme of the probe of %s = %q, want %q", probe.HTTPGet.Path, probe.HTTPGet.Scheme, want)
		}
	}
}

// checkDatabase checks that a container has the file with the URL of the database.
func checkDatabase(t *testing.T, environment []string) {
	t.Helper()
	for _, variable := range environment {
		if file, ok := strings.CutPrefix(variable, "BERTH_DATABASE_URL_FILE="); ok {
			if text := readFile(t, file); !strings.HasPrefix(text, "postgres://") {
				t.Errorf("%s contains %q, want a URL", file, text)
			}
			return
		}
	}
	t.Errorf("%q names no database", environment)
}

// documentedSecrets returns the Secrets that the comment of a file creates: their values by name and key. The values of
// files are empty.
func documentedSecrets(t *testing.T, file string) map[string]map[string]string {
	t.Helper()
	text := strings.ReplaceAll(readFile(t, file), "\\\n#", "")
	found := map[string]map[string]string{}
	for _, words := range regexp.MustCompile(`create secret tls (\S+) --cert=\S+ --key=\S+`).FindAllStringSubmatch(text, -1) {
		found[words[1]] = map[string]string{corev1.TLSCertKey: "", corev1.TLSPrivateKeyKey: ""}
	}
	for _, words := range regexp.MustCompile(`create secret generic (\S+)(.*)`).FindAllStringSubmatch(text, -1) {
		found[words[1]] = map[string]string{}
		for _, literal := range regexp.MustCompile(`--from-literal=(\S+)='([^']*)'`).FindAllStringSubmatch(words[2], -1) {
			found[words[1]][literal[1]] = literal[2]
		}
		for _, name := range regexp.MustCompile(`--from-file=(\S+)`).FindAllStringSubmatch(words[2], -1) {
			found[words[1]][name[1]] = ""
		}
	}
	return found
}

// materialize writes the files that a container mounts, and returns its variables and arguments with their paths.
func (o *objects) materialize(t *testing.T, c *corev1.Container, secrets map[string]map[string]string) (environment, arguments []string) {
	t.Helper()
	root := t.TempDir()
	var pairs []string
	for _, mounted := range c.VolumeMounts {
		at := filepath.Join(root, mounted.MountPath)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, mounted.MountPath, at)
		for name, content := range o.files(t, mounted.Name, secrets) {
			if err := os.WriteFile(filepath.Join(at, name), []byte(content), 0o440); err != nil {
				t.Fatal(err)
			}
		}
	}
	paths := strings.NewReplacer(pairs...)
	for _, from := range c.EnvFrom {
		for name, value := range o.configMaps[from.ConfigMapRef.Name].Data {
			environment = append(environment, name+"="+paths.Replace(value))
		}
	}
	for _, variable := range c.Env {
		if field := variable.ValueFrom; field == nil || field.FieldRef == nil || field.FieldRef.FieldPath != "metadata.name" {
			t.Fatalf("%s: want a ConfigMap, or the name of the pod", variable.Name)
		}
		environment = append(environment, variable.Name+"=berth-0")
	}
	for _, argument := range c.Args {
		arguments = append(arguments, paths.Replace(argument))
	}
	return environment, arguments
}

// files returns the files of a volume.
func (o *objects) files(t *testing.T, name string, secrets map[string]map[string]string) map[string]string {
	t.Helper()
	for _, volume := range o.pod().Volumes {
		switch {
		case volume.Name != name:
		case volume.EmptyDir != nil:
			return nil
		case volume.ConfigMap != nil && o.configMaps[volume.ConfigMap.Name] != nil:
			return o.configMaps[volume.ConfigMap.Name].Data
		case volume.Secret != nil && secrets[volume.Secret.SecretName] != nil:
			if mode := *volume.Secret.DefaultMode; mode != 0o440 {
				t.Errorf("mode of volume %s = %o, want 440", name, mode)
			}
			return secrets[volume.Secret.SecretName]
		default:
			t.Errorf("volume %s: neither this directory nor the comment of kustomization.yaml creates it", name)
			return nil
		}
	}
	t.Errorf("the pod has no volume %s", name)
	return nil
}

// checkSpool checks that the directory of responses is writable and bounded, because the root file system is read-only.
func (o *objects) checkSpool(t *testing.T) {
	t.Helper()
	server := o.pod().Containers[0]
	directory := o.configMaps[server.EnvFrom[0].ConfigMapRef.Name].Data["BERTH_SPOOL_DIR"]
	for _, mounted := range server.VolumeMounts {
		if mounted.MountPath != directory || mounted.ReadOnly {
			continue
		}
		for _, volume := range o.pod().Volumes {
			if volume.Name == mounted.Name && volume.EmptyDir != nil && volume.EmptyDir.SizeLimit != nil &&
				volume.EmptyDir.SizeLimit.Value() > 1<<30 && volume.EmptyDir.Medium == "" {
				return
			}
		}
	}
	t.Errorf("BERTH_SPOOL_DIR = %q is not a writable emptyDir on disk of more than BERTH_SPOOL_MAX_BYTES", directory)
}
