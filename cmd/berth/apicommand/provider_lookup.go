package apicommand

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/terminal"
)

// FindProvider returns the provider with the UUID or name in reference. A provider with this UUID
// takes precedence over another one with this name.
func FindProvider(ctx context.Context, service *client.Client, reference string) (api.Provider, error) {
	if reference == "" {
		return api.Provider{}, frame.WrongArgument("provider", reference, "is empty", "write a name or a UUID")
	}
	found, err := lookUp(ctx, service, reference)
	switch {
	case err != nil:
		return api.Provider{}, err
	case found == nil:
		return api.Provider{}, unknownProvider(ctx, service, reference)
	}
	return *found, nil
}

// lookUp is FindProvider without an error for a provider that does not exist, which is nil.
func lookUp(ctx context.Context, service *client.Client, reference string) (*api.Provider, error) {
	if id, ok := hyphenatedUUID(reference); ok {
		found, err := service.ProviderShow(ctx, id)
		if err == nil {
			return &found, nil
		}
		if !errors.Is(err, client.ErrNotFound) {
			return nil, err
		}
	}
	named, err := service.ProviderList(ctx, client.ProviderFilter{Name: reference})
	switch {
	case err != nil || len(named) == 0:
		return nil, err
	case len(named) > 1:
		return nil, fmt.Errorf("%d providers have the name %q; write a UUID", len(named), reference)
	}
	return &named[0], nil
}

// withProvider is connect.WithClient for commands whose first argument is a provider. It passes the
// other arguments to do.
func withProvider(f *frame.Frame,
	do func(ctx context.Context, service *client.Client, provider api.Provider, others []string) error,
) func(*cobra.Command, []string) error {
	return connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		provider, err := FindProvider(ctx, service, arguments[0])
		if err != nil {
			return err
		}
		return do(ctx, service, provider, arguments[1:])
	})
}

// forEachProvider is connect.WithClient for commands whose arguments are providers. It calls do for
// each of them, or at with an expected generation, and prints the participle done with the provider.
func forEachProvider(f *frame.Frame, done string, generation generationChoice, dryRun *bool,
	do func(service *client.Client, ctx context.Context, id uuid.UUID) error,
	at func(service *client.Client, ctx context.Context, id uuid.UUID, generation int64) error,
) func(*cobra.Command, []string) error {
	return connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		expected, err := generation.ofOne(ctx, service, arguments)
		if err != nil {
			return err
		}
		return write{f, service, *dryRun, ""}.each(ctx, arguments, func(ctx context.Context, reference string) (string, error) {
			provider, err := FindProvider(ctx, service, reference)
			if err != nil {
				return "", err
			}
			if expected == nil {
				err = do(service, ctx, provider.UUID)
			} else {
				err = at(service, ctx, provider.UUID, *expected)
			}
			if err != nil {
				return "", frame.About(provider.Name, err)
			}
			return fmt.Sprintf("%s provider %s (%s)", done, provider.Name, provider.UUID), nil
		})
	})
}

// hyphenatedUUID parses a UUID with hyphens only, so that 32 hexadecimal digits are a name.
func hyphenatedUUID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && len(text) == len(uuid.Nil.String())
}

// unknownProvider returns an error with similar names. It lists all providers, which is slow in a
// large cloud, but runs only after a failed lookup.
func unknownProvider(ctx context.Context, service *client.Client, reference string) error {
	message := fmt.Sprintf("provider %q not found", reference)
	all, err := service.ProviderList(ctx, client.ProviderFilter{})
	if err != nil {
		return fmt.Errorf("%s: %w", message, client.ErrNotFound)
	}
	names := make([]string, 0, len(all))
	for _, provider := range all {
		names = append(names, provider.Name)
	}
	if similar := frame.Similar(reference, names); len(similar) > 0 {
		message += "; similar names: " + terminal.Safe(strings.Join(similar, ", "))
	}
	return errors.New(message)
}

// providerNames maps UUIDs of providers in responses to names. The name of a deleted provider is its
// UUID.
type providerNames struct {
	service *client.Client
	known   map[uuid.UUID]string
}

// newProviderNames returns providerNames with the names of the given providers.
func newProviderNames(service *client.Client, providers ...api.Provider) *providerNames {
	names := &providerNames{service: service, known: map[uuid.UUID]string{}}
	for _, provider := range providers {
		names.known[provider.UUID] = provider.Name
	}
	return names
}

// FewProviders is the maximum number of names that load requests one by one. For more, it lists all
// providers in one request.
const FewProviders = 20

// load adds the names of the providers to known.
func (n *providerNames) load(ctx context.Context, ids []uuid.UUID) error {
	missing := map[uuid.UUID]bool{}
	for _, id := range ids {
		if _, known := n.known[id]; !known {
			missing[id] = true
		}
	}
	if len(missing) > FewProviders {
		all, err := n.service.ProviderList(ctx, client.ProviderFilter{})
		if err != nil {
			return err
		}
		for _, provider := range all {
			n.known[provider.UUID] = provider.Name
			delete(missing, provider.UUID)
		}
	}
	for id := range missing {
		found, err := n.service.ProviderShow(ctx, id)
		switch {
		case errors.Is(err, client.ErrNotFound):
			found.Name = id.String()
		case err != nil:
			return err
		}
		n.known[id] = found.Name
	}
	return nil
}
