package policy

// The names of the rules, one for each operation of the Placement API. The comment of each is its request;
// {p} is a provider, {c} a class or a consumer.
const (
	ProvidersList   = "placement:resource_providers:list"   // GET /resource_providers
	ProvidersCreate = "placement:resource_providers:create" // POST /resource_providers
	ProvidersShow   = "placement:resource_providers:show"   // GET /resource_providers/{p}
	ProvidersUpdate = "placement:resource_providers:update" // PUT /resource_providers/{p}
	ProvidersDelete = "placement:resource_providers:delete" // DELETE /resource_providers/{p}

	ClassesList   = "placement:resource_classes:list"   // GET /resource_classes
	ClassesCreate = "placement:resource_classes:create" // POST /resource_classes
	ClassesShow   = "placement:resource_classes:show"   // GET /resource_classes/{c}
	ClassesUpdate = "placement:resource_classes:update" // PUT /resource_classes/{c}
	ClassesDelete = "placement:resource_classes:delete" // DELETE /resource_classes/{c}

	InventoriesList   = "placement:resource_providers:inventories:list"   // GET .../{p}/inventories
	InventoriesCreate = "placement:resource_providers:inventories:create" // POST .../{p}/inventories
	InventoriesShow   = "placement:resource_providers:inventories:show"   // GET .../{p}/inventories/{c}
	InventoriesUpdate = "placement:resource_providers:inventories:update" // PUT of one and of all
	InventoriesDelete = "placement:resource_providers:inventories:delete" // DELETE of one and of all

	ProviderAggregatesList   = "placement:resource_providers:aggregates:list"   // GET .../{p}/aggregates
	ProviderAggregatesUpdate = "placement:resource_providers:aggregates:update" // PUT .../{p}/aggregates

	ProviderUsages = "placement:resource_providers:usages" // GET .../{p}/usages

	// Usages is GET /usages. Its target is the project of the query and not that of the caller.
	Usages = "placement:usages"

	TraitsList   = "placement:traits:list"   // GET /traits
	TraitsShow   = "placement:traits:show"   // GET /traits/{name}
	TraitsUpdate = "placement:traits:update" // PUT /traits/{name}
	TraitsDelete = "placement:traits:delete" // DELETE /traits/{name}

	ProviderTraitsList   = "placement:resource_providers:traits:list"   // GET .../{p}/traits
	ProviderTraitsUpdate = "placement:resource_providers:traits:update" // PUT .../{p}/traits
	ProviderTraitsDelete = "placement:resource_providers:traits:delete" // DELETE .../{p}/traits

	AllocationsManage = "placement:allocations:manage" // POST /allocations
	AllocationsList   = "placement:allocations:list"   // GET /allocations/{c}
	AllocationsUpdate = "placement:allocations:update" // PUT /allocations/{c}
	AllocationsDelete = "placement:allocations:delete" // DELETE /allocations/{c}

	ProviderAllocationsList = "placement:resource_providers:allocations:list" // GET .../{p}/allocations
	CandidatesList          = "placement:allocation_candidates:list"          // GET /allocation_candidates
	Reshape                 = "placement:reshaper:reshape"                    // POST /reshaper

	// The rules of Berth's extensions. ExplanationsMake is asked in addition, for an explanation in a response.
	ExplanationsList = "berth:explanations:list" // GET /explanations
	ExplanationsShow = "berth:explanations:show" // GET /explanations/{request_id}
	ExplanationsMake = "berth:explanations:make" // the parameter explain of allocation candidates, explanations in errors
	TreeUpdate       = "berth:tree:update"       // PUT /resource_providers/{p}/tree
	ClaimsCreate     = "berth:claims:create"     // POST /claims
	LeasesRenew      = "berth:leases:renew"      // POST /leases
	TreeShow         = "berth:tree:show"         // GET /resource_providers/{p}/tree
	ConsumersShow    = "berth:consumers:show"    // GET /consumers/{c}
	AggregatesList   = "berth:aggregates:list"   // GET /aggregates
	CapacityShow     = "berth:capacity:show"     // GET and POST /capacity
	HistoryList      = "berth:history:list"      // GET /history, GET /history/settings, the parameter at
	HistoryUpdate    = "berth:history:update"    // PUT /history/settings
	EventsWatch      = "berth:events:watch"      // GET /events

	// ConsumersList is GET /consumers. Its target is the project of the query, as that of Usages.
	ConsumersList = "berth:consumers:list"
)

// The names of the base rules, which the rules of operations refer to.
const (
	AdminAPI                  = "admin_api"
	ServiceAPI                = "service_api"
	AdminOrServiceAPI         = "admin_or_service_api"
	ProjectReaderAPI          = "project_reader_api"
	AdminOrReaderOrServiceAPI = "admin_or_project_reader_or_service_api"
)
