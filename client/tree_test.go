package client

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// id is the same uuid for the same number.
func id(number int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", number))
}

// listed is a provider as the server lists it; parent 0 is a root.
func listed(number int, name string, parent int, generation int64) api.Provider {
	provider := api.Provider{UUID: id(number), Name: name, Generation: generation}
	if parent != 0 {
		provider.ParentProviderUUID = new(id(parent))
	}
	return provider
}

// host is a root with two NUMA nodes, the second of which has a GPU.
func host(t testing.TB) *ProviderTree {
	t.Helper()
	tree := NewProviderTree()
	if err := tree.Populate([]api.Provider{
		listed(4, "gpu", 3, 40), listed(1, "host", 0, 10), listed(2, "numa0", 1, 20), listed(3, "numa1", 1, 30),
	}); err != nil {
		t.Fatal(err)
	}
	return tree
}

// outline is a forest as "name<parent", parents first.
func outline(tree *ProviderTree) []string {
	var lines []string
	names := map[uuid.UUID]string{}
	for _, node := range tree.Nodes() {
		names[node.UUID] = node.Name
		lines = append(lines, node.Name+"<"+names[node.Parent])
	}
	return lines
}

func wantOutline(t testing.TB, tree *ProviderTree, want ...string) {
	t.Helper()
	if got := outline(tree); !slices.Equal(got, want) {
		t.Errorf("the forest is %q, want %q", got, want)
	}
}

func TestClient_ProviderLookup_ByNameOrUUID(t *testing.T) {
	t.Parallel()
	tree := host(t)
	for _, ref := range []string{"gpu", id(4).String()} {
		node, err := tree.Provider(ref)
		if err != nil {
			t.Fatal(err)
		}
		want := Node{UUID: id(4), Name: "gpu", Parent: id(3), Generation: new(int64(40)), Inventories: Inventories{}}
		if !reflect.DeepEqual(node, want) {
			t.Errorf("provider %q is %+v, want %+v", ref, node, want)
		}
	}
	if _, err := tree.Provider("missing"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown provider: %v, want ErrNotFound", err)
	}
	if tree.Exists("missing") || !tree.Exists("numa0") {
		t.Error("Exists knows the wrong providers")
	}
}

func TestClient_Providers_ListedTopDown(t *testing.T) {
	t.Parallel()
	tree := host(t)
	if err := tree.NewRoot("disk", id(9), new(int64(1))); err != nil {
		t.Fatal(err)
	}
	wantOutline(t, tree, "disk<", "host<", "numa0<host", "numa1<host", "gpu<numa1")
	for _, c := range []struct {
		refs []string
		want []int
	}{
		{nil, []int{9, 1, 2, 3, 4}}, {[]string{"numa1"}, []int{3, 4}}, {[]string{"gpu", "host"}, []int{4, 1, 2, 3}},
	} {
		got, err := tree.UUIDs(c.refs...)
		if err != nil || !slices.Equal(got, ids(c.want...)) {
			t.Errorf("UUIDs(%q) = %v, %v, want %v", c.refs, got, err, c.want)
		}
	}
	if got, err := tree.UUIDsInTree("gpu"); err != nil || !slices.Equal(got, ids(1, 2, 3, 4)) {
		t.Errorf("the tree around the GPU is %v, %v", got, err)
	}
	if roots := tree.Roots(); len(roots) != 2 || roots[0].Name != "disk" || roots[1].Name != "host" {
		t.Errorf("the roots are %v", roots)
	}
}

func ids(numbers ...int) []uuid.UUID {
	all := make([]uuid.UUID, len(numbers))
	for i, number := range numbers {
		all[i] = id(number)
	}
	return all
}

func TestClient_DuplicateNameOrUUIDInForest_ReturnsErrDuplicateName(t *testing.T) {
	t.Parallel()
	tree := host(t)
	_, child := tree.NewChild("gpu", "numa0", uuid.Nil)
	_, again := tree.NewChild("other", "numa0", id(4))
	for what, err := range map[string]error{
		"a child with a taken name": child, "a child with a taken uuid": again,
		"a root with a taken name": tree.NewRoot("gpu", id(8), nil), "a root with a taken uuid": tree.NewRoot("root", id(4), nil),
		"a taken new name": tree.Rename("numa0", "gpu"),
	} {
		if !errors.Is(err, ErrDuplicateName) {
			t.Errorf("%s: %v, want ErrDuplicateName", what, err)
		}
	}
	wantOutline(t, tree, "host<", "numa0<host", "numa1<host", "gpu<numa1")
}

func TestClient_NewChild_GetsUUIDWithoutGeneration(t *testing.T) {
	t.Parallel()
	tree := host(t)
	made, err := tree.NewChild("gpu1", "numa0", uuid.Nil)
	if err != nil {
		t.Fatal(err)
	}
	node, err := tree.Provider("gpu1")
	if err != nil || node.UUID != made || made == uuid.Nil || node.Parent != id(2) || node.Generation != nil {
		t.Errorf("the child is %+v, %v", node, err)
	}
	if _, err := tree.NewChild("gpu2", "numa7", uuid.Nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("child of a missing provider: %v, want ErrNotFound", err)
	}
}

func TestClient_RemoveProvider_RemovesSubtree(t *testing.T) {
	t.Parallel()
	tree := host(t)
	if err := tree.Remove("numa1"); err != nil {
		t.Fatal(err)
	}
	wantOutline(t, tree, "host<", "numa0<host")
	if err := tree.Remove("gpu"); !errors.Is(err, ErrNotFound) {
		t.Errorf("removing what is gone: %v, want ErrNotFound", err)
	}
	if _, err := tree.NewChild("gpu", "numa0", id(4)); err != nil {
		t.Errorf("name and uuid of what is gone are not free: %v", err)
	}
}

func TestClient_MoveBelowItself_ReturnsError(t *testing.T) {
	t.Parallel()
	tree := host(t)
	if err := tree.Move("numa1", "gpu"); err == nil {
		t.Error("a provider stands below its own child")
	}
	if err := tree.Move("numa1", "numa1"); err == nil {
		t.Error("a provider stands below itself")
	}
	if err := errors.Join(tree.Move("numa1", "numa0"), tree.Rename("numa1", "a")); err != nil {
		t.Fatal(err)
	}
	wantOutline(t, tree, "host<", "numa0<host", "a<numa0", "gpu<a")
	if err := tree.Move("a", ""); err != nil {
		t.Fatal(err)
	}
	wantOutline(t, tree, "a<", "gpu<a", "host<", "numa0<host")
}

func TestClient_Populate_KeepsDataAndFollowsServer(t *testing.T) {
	t.Parallel()
	tree := host(t)
	if _, err := tree.UpdateTraits("gpu", []string{"B", "A"}, nil); err != nil {
		t.Fatal(err)
	}
	// numa0 and the GPU have swapped their names, numa1 is gone, gpu2 is new.
	if err := tree.Populate([]api.Provider{
		listed(4, "numa0", 2, 41), listed(5, "gpu2", 4, 0), listed(2, "gpu", 1, 21), listed(1, "box", 0, 11),
	}); err != nil {
		t.Fatal(err)
	}
	wantOutline(t, tree, "box<", "gpu<box", "numa0<gpu", "gpu2<numa0")
	node, err := tree.Provider("numa0")
	if err != nil || *node.Generation != 41 || !slices.Equal(node.Traits, []string{"A", "B"}) {
		t.Errorf("the moved provider is %+v, %v", node, err)
	}
}

func TestClient_PopulateWithoutRoot_RemovesNothing(t *testing.T) {
	t.Parallel()
	tree := host(t)
	if err := tree.Populate([]api.Provider{listed(5, "gpu2", 2, 0)}); err != nil {
		t.Fatal(err)
	}
	wantOutline(t, tree, "host<", "numa0<host", "gpu2<numa0", "numa1<host", "gpu<numa1")
}

func TestClient_PopulateInvalidList_ChangesNothing(t *testing.T) {
	t.Parallel()
	for what, providers := range map[string][]api.Provider{
		"an unknown parent":         {listed(1, "host", 0, 11), listed(5, "gpu2", 7, 0)},
		"an unlisted parent":        {listed(1, "host", 0, 11), listed(4, "gpu", 3, 40)},
		"a cycle":                   {listed(2, "numa0", 3, 21), listed(3, "numa1", 2, 31)},
		"a name of another's":       {listed(8, "gpu", 0, 0)},
		"two of the same name":      {listed(8, "x", 0, 0), listed(9, "x", 0, 0)},
		"a provider without a name": {listed(8, "", 0, 0)},
		"a provider without a uuid": {{Name: "x"}},
	} {
		tree := host(t)
		before := tree.Nodes()
		if err := tree.Populate(providers); err == nil {
			t.Errorf("%s is accepted", what)
		}
		if after := tree.Nodes(); !reflect.DeepEqual(after, before) {
			t.Errorf("%s changes the forest from %v to %v", what, before, after)
		}
	}
}
