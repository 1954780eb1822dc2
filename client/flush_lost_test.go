package client

import (
	"errors"
	"net/http"
	"slices"
	"testing"
)

// TestClient_ConnectionRefused_ReturnsErrUnavailable wherever it fails.
func TestClient_ConnectionRefused_ReturnsErrUnavailable(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"POST /rp", "PUT /rp/NUMA1/inventories", "PUT /rp/NUMA1/aggregates", "PUT /rp/NUMA1/traits",
		"PUT /traits/CUSTOM_A", "PUT /resource_classes/CUSTOM_C", "PUT /rp/NUMA2", "DELETE /rp/GPU1"} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			must(c.operator.ProviderCreate(t.Context(), "gpu1", gpu1, cn))(t)
			tree := c.load(t)
			if err := editEverything(tree); err != nil {
				t.Fatal(err)
			}
			down := false
			c.wire.Before = func(request *http.Request) (*http.Response, error) {
				down = down || named([]string{request.Method + " " + request.URL.Path})[0] == cut
				if down {
					return nil, errCut
				}
				return nil, nil
			}
			if err := c.client.UpdateFromProviderTree(t.Context(), tree, nil); !errors.Is(err, errCut) || !errors.Is(err, ErrUnavailable) {
				t.Errorf("%v, want the cut", err)
			}
			c.wire.Before = nil
			if err := pass(t.Context(), c.client, func(tree *ProviderTree, _ Allocations) error { return editEverything(tree) }); err != nil {
				t.Errorf("the next pass: %v", err)
			}
			tree = c.load(t)
			wantOutline(t, tree, "cn<", "gpu0<cn", "numa1<cn", "socket<cn", "ssp<")
		})
	}
}

// editEverything needs every kind of write but a reshape. It can be done again.
func editEverything(tree *ProviderTree) error {
	if !tree.Exists("gpu0") {
		if _, err := tree.NewChild("gpu0", "cn", gpu0); err != nil {
			return err
		}
	}
	if tree.Exists("gpu1") {
		if err := tree.Remove("gpu1"); err != nil {
			return err
		}
	}
	if tree.Exists("numa2") {
		if err := tree.Rename("numa2", "socket"); err != nil {
			return err
		}
	}
	if _, err := tree.UpdateInventory("numa1", Inventories{
		"VCPU": {Total: 9}, "MEMORY_MB": {Total: 4096}, "CUSTOM_C": {Total: 1},
	}, nil); err != nil {
		return err
	}
	return errors.Join(tree.AddTraits("numa1", "CUSTOM_A"), tree.AddAggregates("numa1", aggregate))
}

// TestClient_ResponseLost_ReadsStateBack cuts the wire after the server has written.
func TestClient_ResponseLost_ReadsStateBack(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	must(c.operator.ProviderCreate(t.Context(), "gpu1", gpu1, cn))(t)
	tree := c.load(t)
	if err := editEverything(tree); err != nil {
		t.Fatal(err)
	}
	lost := 0
	c.wire.After = func(request *http.Request, answer *http.Response) (*http.Response, error) {
		if request.Method != http.MethodGet && request.ContentLength > 0 {
			lost++
			return nil, errCut
		}
		return answer, nil
	}
	c.update(t, tree, nil)
	if lost != 5 { // a provider, a name and three properties
		t.Errorf("%d answers were lost", lost)
	}
	c.client.ClearCache()
	if got := c.load(t); !slices.Equal(outline(got), outline(tree)) {
		t.Errorf("the server has %q, want %q", outline(got), outline(tree))
	}
}

// TestClient_RequestLost_ReturnsConflict cuts the wire before the server has seen anything,
// which the client cannot know.
func TestClient_RequestLost_ReturnsConflict(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"inventories", "aggregates", "traits", ""} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			tree := c.load(t)
			var err error
			switch what {
			case "inventories":
				_, err = tree.UpdateInventory("cn", Inventories{"VGPU": {Total: 10}}, nil)
			case "aggregates":
				err = tree.RemoveAggregates("cn", aggregate)
			case "traits":
				err = tree.AddTraits("cn", "HW_NUMA_ROOT")
			default:
				err = tree.Rename("cn", "host")
			}
			if err != nil {
				t.Fatal(err)
			}
			c.wire.Before = func(request *http.Request) (*http.Response, error) {
				if request.Method == http.MethodPut {
					return nil, errCut
				}
				return nil, nil
			}
			if err := c.client.UpdateFromProviderTree(t.Context(), tree, nil); !errors.Is(err, ErrUpdateConflict) {
				t.Errorf("%v, want ErrUpdateConflict", err)
			}
		})
	}
}

// TestClient_ResponseLostAndOtherPropertyWritten_ReturnsConflict: the server executed the write, and another client
// wrote another property before the client could look.
func TestClient_ResponseLostAndOtherPropertyWritten_ReturnsConflict(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	tree := c.load(t)
	if _, err := tree.UpdateInventory("cn", Inventories{"VGPU": {Total: 10}}, nil); err != nil {
		t.Fatal(err)
	}
	c.wire.After = func(request *http.Request, answer *http.Response) (*http.Response, error) {
		if request.Method == http.MethodPut {
			c.mark(t, cn, "HW_NUMA_ROOT")
			return nil, errCut
		}
		return answer, nil
	}
	if err := c.client.UpdateFromProviderTree(t.Context(), tree, nil); !errors.Is(err, ErrUpdateConflict) {
		t.Errorf("%v, want ErrUpdateConflict", err)
	}
	if has, err := c.load(t).HasTraits("cn", "HW_NUMA_ROOT"); err != nil || !has {
		t.Errorf("the other one's trait is seen: %t, %v", has, err)
	}
}
