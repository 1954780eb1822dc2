package model

// Response is the response to a request.
type Response struct {
	// Lost is true if the connection failed before the response.
	Lost   bool
	Status int
	// Reason is the reason of an error response; empty: success.
	Reason Reason
	// Provider, Class and Expected are the values that the error contains.
	Provider, Class int
	Expected        int64
	// Refused are the reasons of NothingFits, one for each candidate of a claim that names them.
	Refused []Refusal
	// Detail is the text of the error.
	Detail   string
	Observed Observed
	// Changes are those of a successful dry run.
	Changes *Changes
}

// Refusal is the reason why one candidate does not fit.
type Refusal struct {
	Reason          Reason
	Provider, Class int
}

// Observed is the state that a successful response shows.
type Observed struct {
	// Generation is the generation of the provider or consumer; None: not in the response.
	Generation  int64
	Inventories Inventories
	// Used is the usage by class; None for a class that is not in the response.
	Used Amounts
	// ByConsumer are the allocations on a provider; ConsumerGenerations are those of the consumers, 0 for one that is not listed.
	ByConsumer          [ConsumerCount]Amounts
	ConsumerGenerations [ConsumerCount]int64
	// Allocations are the allocations of a consumer; ProviderGenerations are those of the providers, None for one that is
	// not listed.
	Allocations         Allocations
	ProviderGenerations [ProviderCount]int64
	Owner               Owner
	Lease               ShownLease
	// Renewal is what POST /leases says; empty: nothing. WasLeased: an ExpireLease found a lease.
	Renewal            Renewal
	WasLeased          bool
	Parent, Root       int
	Name               int8
	Traits, Aggregates uint8
	// Tree is what PUT /resource_providers/{provider}/tree says of each provider.
	Tree [ProviderCount]TreeChange
	// Shown and Users are the providers and consumers that GET /resource_providers/{provider}/tree shows.
	Shown [ProviderCount]ShownProvider
	Users [ConsumerCount]ShownConsumer
	// Served are the providers that serve the request groups of a claim.
	Served [MaxGroups]int
}

// Accepted returns the response of a request that was executed and of whose response nothing is known.
func Accepted() Response {
	made := Response{Provider: None, Class: None, Expected: None, Observed: Observed{Generation: None, Parent: None, Root: None}}
	for class := range ClassCount {
		made.Observed.Used[class] = None
	}
	for p := range ProviderCount {
		made.Observed.ProviderGenerations[p] = None
	}
	for group := range made.Observed.Served {
		made.Observed.Served[group] = None
	}
	return made
}

// fits reports whether the response has no generation or this one.
func (o *Observed) fits(generation int64) bool {
	return o.Generation == None || o.Generation == generation
}

// Reason is the reason of an error response.
type Reason string

// The reasons that the rules define.
const (
	ProviderNotFound           Reason = "provider not found"
	NoClaimedProvider          Reason = "provider of an allocation not found"
	NoShape                    Reason = "provider to reshape not found"
	ProviderGenerationConflict Reason = "provider generation conflict"
	ConsumerGenerationConflict Reason = "consumer generation conflict"
	NoInventory                Reason = "no inventory of the class"
	NoClaimedInventory         Reason = "no inventory of the class of an allocation"
	WrongUnits                 Reason = "violates the units of the inventory"
	CapacityExceeded           Reason = "capacity exceeded"
	OverReserved               Reason = "capacity too small"
	InUse                      Reason = "inventory in use"
	InventoryExists            Reason = "inventory exists"
	NoConsumer                 Reason = "consumer not found"
	HasChildren                Reason = "provider has children"
	HasAllocations             Reason = "provider in use"
	Exists                     Reason = "provider exists"
	NameTaken                  Reason = "name of another provider"
	NoParent                   Reason = "parent not found"
	Loop                       Reason = "parent cycle"
	// UnparentNotAllowed and ReparentNotAllowed are errors before microversion 1.37.
	UnparentNotAllowed Reason = "a child cannot become a root"
	ReparentNotAllowed Reason = "a child cannot get another parent"
	// NotRoot, InOtherTree and NotInTree are errors of PUT /resource_providers/{provider}/tree only.
	NotRoot     Reason = "provider is not a root"
	InOtherTree Reason = "provider in another tree"
	NotInTree   Reason = "parent not in the tree"
	// The following are about the names of classes and traits.
	NoClass        Reason = "class not found"
	NoTrait        Reason = "trait not found"
	StandardClass  Reason = "class is standard"
	StandardTrait  Reason = "trait is standard"
	ClassInUse     Reason = "class in use"
	TraitInUse     Reason = "trait in use"
	ClassNameTaken Reason = "name of another class"
	// NothingFits is an error of claims only.
	NothingFits Reason = "nothing fits"
	// Busy does not depend on the state: too many dry runs at once.
	Busy Reason = "busy"
	// RetriesExhausted does not depend on the state: the server gave up after its last attempt.
	RetriesExhausted Reason = "retries exhausted"
	// Unexplained is the reason of all other errors; they are wrong in every order.
	Unexplained Reason = "unexplained"
)

// NamesProvider reports whether an error with this reason must name one of several providers.
func (r Reason) NamesProvider() bool {
	switch r {
	case NoClaimedProvider, NoShape, NoClaimedInventory, WrongUnits, CapacityExceeded, InUse:
		return true
	}
	return false
}
