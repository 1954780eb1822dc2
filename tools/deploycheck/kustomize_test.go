package deploycheck

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	base     = deploy + "/kubernetes/base"
	overlays = deploy + "/kubernetes/overlays"
)

// objects are what Kustomize builds of a directory, decoded with the types of Kubernetes.
type objects struct {
	deployment *appsv1.Deployment
	service    *corev1.Service
	account    *corev1.ServiceAccount
	budget     *policyv1.PodDisruptionBudget
	configMaps map[string]*corev1.ConfigMap
}

// kustomize builds a directory. A member that the types lack is an error, and so is an object of another kind.
func kustomize(t *testing.T, directory string) *objects {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		t.Fatalf("%s: %v", directory, err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	found := &objects{configMaps: map[string]*corev1.ConfigMap{}}
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", directory, err, text)
		}
		switch object := object.(type) {
		case *appsv1.Deployment:
			found.deployment = object
		case *corev1.Service:
			found.service = object
		case *corev1.ServiceAccount:
			found.account = object
		case *policyv1.PodDisruptionBudget:
			found.budget = object
		case *corev1.ConfigMap:
			found.configMaps[object.Name] = object
		default:
			t.Fatalf("%s: this test does not know a %T", directory, object)
		}
	}
	if found.deployment == nil || found.service == nil || found.account == nil || found.budget == nil {
		t.Fatalf("%s: it lacks an object: %+v", directory, found)
	}
	return found
}

// pod returns the pod of the Deployment.
func (o *objects) pod() corev1.PodSpec { return o.deployment.Spec.Template.Spec }

// containers returns all containers of the pod.
func (o *objects) containers() []corev1.Container {
	return slices.Concat(o.pod().InitContainers, o.pod().Containers)
}

// everyDirectory calls check with the base and each overlay.
func everyDirectory(t *testing.T, check func(t *testing.T, o *objects)) {
	t.Helper()
	directories, err := filepath.Glob(overlays + "/*")
	if err != nil || len(directories) == 0 {
		t.Fatalf("overlays = %q, %v", directories, err)
	}
	for _, directory := range append(directories, base) {
		t.Run(filepath.Base(directory), func(t *testing.T) { check(t, kustomize(t, directory)) })
	}
}

// TestDocs_Kubernetes_ContainersAreRestricted compares the rights of the containers with the user of the image.
func TestDocs_Kubernetes_ContainersAreRestricted(t *testing.T) {
	t.Parallel()
	user := regexp.MustCompile(`(?m)^USER (\d+:\d+)$`).FindStringSubmatch(readFile(t, deploy+"/Dockerfile"))
	everyDirectory(t, func(t *testing.T, o *objects) {
		pod := o.pod()
		s := pod.SecurityContext
		if !*s.RunAsNonRoot || fmt.Sprintf("%d:%d", *s.RunAsUser, *s.RunAsGroup) != user[1] || *s.FSGroup != *s.RunAsGroup ||
			s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("security context of the pod = %v, want user %s", s, user[1])
		}
		if pod.ServiceAccountName != o.account.Name || *pod.AutomountServiceAccountToken || *o.account.AutomountServiceAccountToken {
			t.Errorf("account = %q, want %q without a token", pod.ServiceAccountName, o.account.Name)
		}
		if pod.HostNetwork || pod.HostPID || pod.HostIPC {
			t.Error("the pod shares a namespace of the node")
		}
		for _, c := range o.containers() {
			s := c.SecurityContext
			if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Privileged != nil ||
				!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
				t.Errorf("security context of %s = %v, want no rights", c.Name, s)
			}
			if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
				t.Errorf("resources of %s = %v, want requests and a limit of memory", c.Name, c.Resources)
			}
			if c.Image != pod.Containers[0].Image {
				t.Errorf("image of %s = %s, want that of the server, %s", c.Name, c.Image, pod.Containers[0].Image)
			}
		}
	})
}

// TestDocs_Kubernetes_SelectorsMatchPods checks the labels and names by which the objects refer to each other.
func TestDocs_Kubernetes_SelectorsMatchPods(t *testing.T) {
	t.Parallel()
	everyDirectory(t, func(t *testing.T, o *objects) {
		labels := o.deployment.Spec.Template.Labels
		if o.budget.Spec.Selector == nil {
			t.Fatal("the PodDisruptionBudget has no selector")
		}
		selectors := map[string]map[string]string{
			"Deployment": o.deployment.Spec.Selector.MatchLabels, "Service": o.service.Spec.Selector,
			"PodDisruptionBudget": o.budget.Spec.Selector.MatchLabels,
			"spread":              o.pod().TopologySpreadConstraints[0].LabelSelector.MatchLabels,
		}
		for name, selector := range selectors {
			if !maps.Equal(selector, labels) || len(labels) == 0 {
				t.Errorf("selector of the %s = %v, labels of the pods = %v; want equal ones", name, selector, labels)
			}
		}
		port := o.service.Spec.Ports[0]
		if port.TargetPort.StrVal != o.pod().Containers[0].Ports[0].Name {
			t.Errorf("the Service leads to port %s, want that of the server", port.TargetPort.String())
		}
		if o.budget.Spec.MinAvailable.IntVal >= *o.deployment.Spec.Replicas {
			t.Errorf("%s of %d pods must be available, so that no node can be drained", o.budget.Spec.MinAvailable, *o.deployment.Spec.Replicas)
		}
		for _, c := range o.containers() {
			for _, from := range c.EnvFrom {
				if from.ConfigMapRef == nil || o.configMaps[from.ConfigMapRef.Name] == nil {
					t.Errorf("container %s: %v is not a ConfigMap of this directory", c.Name, from)
				}
			}
		}
	})
}

// TestDocs_Kubernetes_ProbesReturn200 sends the requests of the probes to a server.
func TestDocs_Kubernetes_ProbesReturn200(t *testing.T) {
	t.Parallel()
	server := kustomize(t, base).pod().Containers[0]
	address := serve(t)
	want := map[string]*corev1.Probe{"/livez": server.LivenessProbe, "/readyz": server.ReadinessProbe}
	if server.StartupProbe.HTTPGet.Path != "/livez" {
		t.Errorf("path of the startup probe = %s, want /livez", server.StartupProbe.HTTPGet.Path)
	}
	for path, probe := range want {
		if probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != server.Ports[0].Name {
			t.Errorf("probe = %v, want %s on port %s", probe.HTTPGet, path, server.Ports[0].Name)
		}
		if err := get("http://"+address+probe.HTTPGet.Path, nil); err != nil {
			t.Error(err)
		}
	}
}
