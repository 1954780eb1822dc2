package reconcile

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// pageSize is the number of items of a request, which is the maximum of the API.
const pageSize = 1000

// state is what the server has. The parts of it are of different moments; each has a generation.
type state struct {
	consumers map[uuid.UUID]client.ListedConsumer
	// providers are in the order of their creation.
	providers []api.ProviderWithParts
	byUUID    map[uuid.UUID]*api.ProviderWithParts
	// rootByName has roots only.
	rootByName map[string]uuid.UUID
}

// readState reads all consumers with their allocations, and all providers.
func readState(ctx context.Context, service *client.Client, progress *progressLine) (*state, error) {
	read := &state{consumers: map[uuid.UUID]client.ListedConsumer{}, byUUID: map[uuid.UUID]*api.ProviderWithParts{}, rootByName: map[string]uuid.UUID{}}
	for consumer, err := range service.Consumers(ctx, client.ConsumerFilter{WithAllocations: true}) {
		if err != nil {
			return nil, err
		}
		read.consumers[consumer.UUID] = consumer
		progress.show("reading consumers: %d", len(read.consumers))
	}
	query := client.ProviderQuery{Include: []string{"inventories", "traits", "aggregates"}, PageSize: pageSize}
	for provider, err := range service.Providers(ctx, query) {
		if err != nil {
			return nil, err
		}
		read.providers = append(read.providers, provider)
		progress.show("reading providers: %d", len(read.providers))
	}
	for i := range read.providers {
		provider := &read.providers[i]
		read.byUUID[provider.UUID] = provider
		if provider.UUID == provider.RootProviderUUID {
			read.rootByName[provider.Name] = provider.UUID
		}
	}
	return read, nil
}

// rootOf returns the root provider of a host: the one with the UUID of the host, else the one with its name.
func (s *state) rootOf(host string, known *knowledge) (uuid.UUID, bool) {
	if id := known.hosts[host]; id != uuid.Nil {
		if provider := s.byUUID[id]; provider != nil {
			return provider.RootProviderUUID, true
		}
	}
	root, found := s.rootByName[host]
	return root, found
}

// nameOf returns the name of a provider, or its UUID if it is unknown.
func (s *state) nameOf(id uuid.UUID) string {
	if provider := s.byUUID[id]; provider != nil {
		return provider.Name
	}
	return id.String()
}

// roots are the providers that are no children, by UUID, with all providers of their trees.
func (s *state) trees() map[uuid.UUID][]*api.ProviderWithParts {
	trees := map[uuid.UUID][]*api.ProviderWithParts{}
	for i := range s.providers {
		provider := &s.providers[i]
		trees[provider.RootProviderUUID] = append(trees[provider.RootProviderUUID], provider)
	}
	return trees
}

// oldProviders returns the providers that are certainly older than a time. The API does not show when a provider was created,
// but lists them in that order: a provider is older than each allocation on it and on later providers.
func (s *state) oldProviders(before time.Time) map[uuid.UUID]bool {
	firstUse := map[uuid.UUID]time.Time{}
	for _, consumer := range s.consumers {
		for _, on := range consumer.Allocations {
			if first, isUsed := firstUse[on.Provider]; !isUsed || on.CreatedAt.Before(first) {
				firstUse[on.Provider] = on.CreatedAt
			}
		}
	}
	old := map[uuid.UUID]bool{}
	isOld := false
	for i := len(s.providers) - 1; i >= 0; i-- {
		id := s.providers[i].UUID
		first, isUsed := firstUse[id]
		isOld = isOld || isUsed && first.Before(before)
		old[id] = isOld
	}
	return old
}
