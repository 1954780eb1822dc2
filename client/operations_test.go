package client

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	api "github.com/berthd/berth/gen/client"
	"github.com/google/uuid"
)

// names of providers, in the order given.
func names(providers []api.Provider) []string {
	var all []string
	for _, provider := range providers {
		all = append(all, provider.Name)
	}
	return all
}

// wantErrors fails unless the error is of all the kinds wanted, and of no other
// one that an answer can be of.
func wantErrors(t testing.TB, err error, wanted ...error) {
	t.Helper()
	if err == nil {
		t.Fatalf("there is no error, want %q", wanted)
	}
	for _, kind := range []error{
		ErrConcurrentUpdate, ErrConsumerGeneration, ErrInventoryInUse, ErrDuplicateName, ErrDuplicateUUID, ErrProviderInUse,
		ErrHasChildren, ErrNotFound, ErrCapacityExceeded, ErrUnauthorized, ErrForbidden, ErrUnavailable, ErrOutcomeUnknown, ErrMicroversion,
	} {
		if got, want := errors.Is(err, kind), slices.Contains(wanted, kind); got != want {
			t.Errorf("%q: that it says %q is %t, want %t", err, kind, got, want)
		}
	}
}

// plain is a whole record, as the server tells it, of what was given as a total.
func plain(total int32) InventoryRecord {
	return InventoryRecord{
		Total: total, Reserved: new(int32(0)), MinUnit: new(int32(1)), MaxUnit: new(int32(2147483647)),
		StepSize: new(int32(1)), AllocationRatio: new(1.0),
	}
}

func TestClient_Provider_CreateListMoveDelete(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newClient(t)
	root := must(client.ProviderCreate(ctx, "root", id(1), uuid.Nil))(t)
	if root.UUID != id(1) || root.Name != "root" || root.ParentProviderUUID != nil || root.RootProviderUUID != id(1) {
		t.Errorf("the root was made as %+v", root)
	}
	child := must(client.ProviderCreate(ctx, "child & <co>", uuid.Nil, id(1)))(t)
	if parent := child.ParentProviderUUID; parent == nil || *parent != id(1) {
		t.Errorf("the child was made as %+v", child)
	}
	must(client.ProviderCreate(ctx, "other", id(3), uuid.Nil))(t)
	for want, filter := range map[string]ProviderFilter{
		"all":     {},
		"by name": {Name: "child & <co>"},
		"by uuid": {UUID: id(3).String()},
		"in tree": {InTree: child.UUID.String()},
		"unknown": {UUID: id(9).String()},
	} {
		listed := map[string][]string{
			"all": {"root", "child & <co>", "other"}, "by name": {"child & <co>"}, "by uuid": {"other"}, "in tree": {"root", "child & <co>"},
		}[want]
		if got := names(must(client.ProviderList(ctx, filter))(t)); !slices.Equal(got, listed) {
			t.Errorf("%s: %q, want %q", want, got, listed)
		}
	}
	moved := must(client.ProviderUpdate(ctx, child.UUID, "renamed", id(3)))(t)
	if moved.Name != "renamed" || moved.RootProviderUUID != id(3) {
		t.Errorf("the child was moved as %+v", moved)
	}
	wantErrors(t, client.ProviderDelete(ctx, id(3)), ErrHasChildren)
	if moved = must(client.ProviderUpdate(ctx, child.UUID, "renamed", uuid.Nil))(t); moved.RootProviderUUID != child.UUID {
		t.Errorf("the child became a root as %+v", moved)
	}
	if err := client.ProviderDelete(ctx, id(3)); err != nil {
		t.Error(err)
	}
	_, err := client.ProviderShow(ctx, id(3))
	wantErrors(t, err, ErrNotFound)
	wantErrors(t, client.ProviderDelete(ctx, id(3)), ErrNotFound)
}

func TestClient_FilterNotUUID_RejectedWithoutRequest(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{}
	client := newClient(t, WithTransport(through))
	for _, filter := range []ProviderFilter{{UUID: "compute-1"}, {InTree: "compute-1"}} {
		if _, err := client.ProviderList(t.Context(), filter); err == nil {
			t.Errorf("%+v is accepted", filter)
		}
	}
	if sent := through.Requests(); len(sent) != 0 {
		t.Errorf("sent: %q", sent)
	}
}

func TestClient_ProviderList_FiltersByTraitsAggregatesResources(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newClient(t)
	for number, name := range []string{"plain", "fast", "old"} {
		must(client.ProviderCreate(ctx, name, id(number), uuid.Nil))(t)
	}
	_, _, err := client.ProviderTraitReplace(ctx, id(1), 0, []string{"HW_CPU_X86_AVX2", "STORAGE_DISK_SSD"})
	if err == nil {
		_, _, err = client.ProviderTraitReplace(ctx, id(2), 0, []string{"HW_CPU_X86_AVX2"})
	}
	if err == nil {
		_, _, err = client.ProviderAggregateReplace(ctx, id(2), 1, []uuid.UUID{id(100)})
	}
	if err == nil {
		_, _, err = client.InventoryReplace(ctx, id(2), 2, Inventories{"VCPU": {Total: 4}})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		filter ProviderFilter
		want   []string
	}{
		{ProviderFilter{Required: []string{"HW_CPU_X86_AVX2"}}, []string{"fast", "old"}},
		{ProviderFilter{Required: []string{"in:STORAGE_DISK_SSD,HW_CPU_X86_AVX2", "!STORAGE_DISK_SSD"}}, []string{"old"}},
		{ProviderFilter{MemberOf: []string{"in:" + id(100).String() + "," + id(101).String()}}, []string{"old"}},
		{ProviderFilter{MemberOf: []string{"!" + id(100).String()}}, []string{"plain", "fast"}},
		{ProviderFilter{Resources: "VCPU:4"}, []string{"old"}},
		{ProviderFilter{Resources: "VCPU:5"}, nil},
	} {
		if got := names(must(client.ProviderList(ctx, test.filter))(t)); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %q, want %q", test.filter, got, test.want)
		}
	}
}

func TestClient_Inventory_WriteReadWithGeneration(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newClient(t)
	must(client.ProviderCreate(ctx, "host", id(1), uuid.Nil))(t)
	check := func(step string, gotRecords any, gotGeneration int64, err error, wantRecords any, wantGeneration int64) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if !reflect.DeepEqual(gotRecords, wantRecords) || gotGeneration != wantGeneration {
			t.Errorf("%s: %+v at generation %d, want %+v at %d", step, gotRecords, gotGeneration, wantRecords, wantGeneration)
		}
	}
	records, generation, err := client.InventoryList(ctx, id(1))
	check("nothing", records, generation, err, Inventories{}, 0)
	ratio := plain(8)
	ratio.AllocationRatio, ratio.Reserved = new(4.5), new(int32(1))
	records, generation, err = client.InventoryReplace(ctx, id(1), 0, Inventories{"VCPU": {Total: 8, AllocationRatio: new(4.5), Reserved: new(int32(1))}, "DISK_GB": {Total: 10}})
	check("replace", records, generation, err, Inventories{"VCPU": ratio, "DISK_GB": plain(10)}, 1)
	record, generation, err := client.InventoryShow(ctx, id(1), "VCPU")
	check("show", record, generation, err, ratio, 1)
	record, generation, err = client.InventoryUpdate(ctx, id(1), 1, "VCPU", InventoryRecord{Total: 9})
	check("update", record, generation, err, plain(9), 2)
	record, generation, err = client.InventoryCreate(ctx, id(1), "MEMORY_MB", InventoryRecord{Total: 512})
	check("create", record, generation, err, plain(512), 3)
	if err = client.InventoryDelete(ctx, id(1), "DISK_GB"); err != nil {
		t.Error(err)
	}
	records, generation, err = client.InventoryList(ctx, id(1))
	check("list", records, generation, err, Inventories{"VCPU": plain(9), "MEMORY_MB": plain(512)}, 4)
	records, generation, err = client.InventoryReplace(ctx, id(1), 4, nil)
	check("replace by nothing", records, generation, err, Inventories{}, 5)
	if err = client.InventoryClear(ctx, id(1)); err != nil {
		t.Error(err)
	}
}

func TestClient_TraitsAndAggregates_ReplacedWithGeneration(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newClient(t)
	must(client.ProviderCreate(ctx, "host", id(1), uuid.Nil))(t)
	if err := client.TraitEnsure(ctx, "CUSTOM_A"); err != nil {
		t.Fatal(err)
	}
	traits, generation, err := client.ProviderTraitReplace(ctx, id(1), 0, []string{"CUSTOM_A", "HW_CPU_X86_AVX2"})
	slices.Sort(traits)
	if err != nil || generation != 1 || !slices.Equal(traits, []string{"CUSTOM_A", "HW_CPU_X86_AVX2"}) {
		t.Errorf("traits: %q, %d, %v", traits, generation, err)
	}
	aggregates, generation, err := client.ProviderAggregateReplace(ctx, id(1), 1, []uuid.UUID{id(7)})
	if err != nil || generation != 2 || !slices.Equal(aggregates, []uuid.UUID{id(7)}) {
		t.Errorf("aggregates: %v, %d, %v", aggregates, generation, err)
	}
	if aggregates, generation, err = client.ProviderAggregateList(ctx, id(1)); err != nil || generation != 2 || len(aggregates) != 1 {
		t.Errorf("aggregates: %v, %d, %v", aggregates, generation, err)
	}
	if aggregates, generation, err = client.ProviderAggregateReplace(ctx, id(1), 2, nil); err != nil || generation != 3 || len(aggregates) != 0 {
		t.Errorf("no aggregates: %v, %d, %v", aggregates, generation, err)
	}
	if traits, _, err = client.ProviderTraitReplace(ctx, id(1), 3, nil); err != nil || len(traits) != 0 {
		t.Errorf("no traits: %q, %v", traits, err)
	}
	if err := client.ProviderTraitClear(ctx, id(1)); err != nil {
		t.Error(err)
	}
	if traits, generation, err = client.ProviderTraitList(ctx, id(1)); err != nil || generation != 4 || len(traits) != 0 {
		t.Errorf("cleared traits: %q, %d, %v", traits, generation, err)
	}
	_, _, err = client.ProviderTraitReplace(ctx, id(1), 3, []string{"CUSTOM_A"})
	wantErrors(t, err, ErrConcurrentUpdate)
	_, _, err = client.ProviderAggregateReplace(ctx, id(1), 3, []uuid.UUID{id(7)})
	wantErrors(t, err, ErrConcurrentUpdate)
}

func TestClient_TraitsAndClasses_EnsureListDelete(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newClient(t)
	for range 2 {
		if err := errors.Join(client.TraitEnsure(ctx, "CUSTOM_T"), client.ResourceClassEnsure(ctx, "CUSTOM_C")); err != nil {
			t.Fatal(err)
		}
	}
	custom := TraitFilter{Name: "startswith:CUSTOM_"}
	if got := must(client.TraitList(ctx, custom))(t); !slices.Equal(got, []string{"CUSTOM_T"}) {
		t.Errorf("custom traits: %q", got)
	}
	custom.Associated = new(true)
	if got := must(client.TraitList(ctx, custom))(t); len(got) != 0 {
		t.Errorf("custom traits that some provider has: %q", got)
	}
	custom = TraitFilter{Name: "in:CUSTOM_T,CUSTOM_NONE", Associated: new(false)}
	if got := must(client.TraitList(ctx, custom))(t); !slices.Equal(got, []string{"CUSTOM_T"}) {
		t.Errorf("those of two traits that no provider has: %q", got)
	}
	if got := must(client.ResourceClassList(ctx))(t); !slices.Contains(got, "VCPU") || got[len(got)-1] != "CUSTOM_C" {
		t.Errorf("classes: %q", got)
	}
	if got := must(client.ResourceClassShow(ctx, "CUSTOM_C"))(t); got.Name != "CUSTOM_C" {
		t.Errorf("class: %+v", got)
	}
	if err := errors.Join(client.TraitShow(ctx, "CUSTOM_T"), client.TraitDelete(ctx, "CUSTOM_T"), client.ResourceClassDelete(ctx, "CUSTOM_C")); err != nil {
		t.Error(err)
	}
	wantErrors(t, client.TraitShow(ctx, "CUSTOM_T"), ErrNotFound)
	_, err := client.ResourceClassShow(ctx, "CUSTOM_C")
	wantErrors(t, err, ErrNotFound)
}

func TestClient_VersionList_SendsNoMicroversion(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{}
	versions := must(newClient(t, WithTransport(through)).VersionList(t.Context()))(t)
	if len(versions) != 1 || versions[0].MaxVersion != "1.39" {
		t.Errorf("versions: %+v", versions)
	}
	if asked := through.Headers()[0].Values("Openstack-Api-Version"); len(asked) != 0 {
		t.Errorf("the question which versions there are asked for %q", asked)
	}
}
