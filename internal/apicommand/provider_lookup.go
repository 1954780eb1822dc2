package apicommand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/connect"
	"github.com/berthd/berth/internal/frame"
	"github.com/berthd/berth/internal/terminal"
)

// FindProvider turns what a person writes for a provider into the provider. A
// uuid is one, and so is a name; names are unique. Of a name that looks like a
// uuid the provider with that uuid comes first.
func FindProvider(ctx context.Context, service *client.Client, reference string) (api.Provider, error) {
	if id, ok := plainUUID(reference); ok {
		found, err := service.ProviderShow(ctx, id)
		if err == nil || !errors.Is(err, client.ErrNotFound) {
			return found, err
		}
	}
	if reference == "" {
		return api.Provider{}, frame.WrongArgument("provider", reference, "names no provider", "write a name or a uuid")
	}
	named, err := service.ProviderList(ctx, client.ProviderFilter{Name: reference})
	switch {
	case err != nil:
		return api.Provider{}, err
	case len(named) == 1:
		return named[0], nil
	case len(named) > 1:
		return api.Provider{}, fmt.Errorf("%d providers are called %q; write the uuid of one", len(named), reference)
	}
	return api.Provider{}, unknownProvider(ctx, service, reference)
}

// withProvider is asking for commands whose first argument is a provider; do gets the
// others.
func withProvider(f *frame.Frame, format *string,
	do func(ctx context.Context, service *client.Client, provider api.Provider, others []string) error,
) func(*cobra.Command, []string) error {
	return connect.WithClient(f, format, func(ctx context.Context, service *client.Client, arguments []string) error {
		provider, err := FindProvider(ctx, service, arguments[0])
		if err != nil {
			return err
		}
		return do(ctx, service, provider, arguments[1:])
	})
}

// forEachProvider is asking for commands that do one thing with any number of
// providers, and say what was done.
func forEachProvider(f *frame.Frame, done string,
	do func(service *client.Client, ctx context.Context, id uuid.UUID) error,
) func(*cobra.Command, []string) error {
	return connect.WithClient(f, nil, func(ctx context.Context, service *client.Client, arguments []string) error {
		return f.ForEach(arguments, func(reference string) error {
			provider, err := FindProvider(ctx, service, reference)
			if err != nil {
				return err
			}
			if err := do(service, ctx, provider.UUID); err != nil {
				return frame.About(provider.Name, err)
			}
			return f.Printf("%s provider %s (%s)", done, provider.Name, provider.UUID)
		})
	})
}

// plainUUID reads the form with hyphens only, so that a name of 32 hexadecimal
// digits stays a name.
func plainUUID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && len(text) == len(uuid.Nil.String())
}

// unknownProvider names what the person may have meant. It asks for all providers,
// which is much in a big cloud, but nothing was found and a person has to look.
func unknownProvider(ctx context.Context, service *client.Client, reference string) error {
	message := fmt.Sprintf("there is no provider %q", reference)
	all, err := service.ProviderList(ctx, client.ProviderFilter{})
	if err != nil {
		return fmt.Errorf("%s: %w", message, client.ErrNotFound)
	}
	names := make([]string, 0, len(all))
	for _, one := range all {
		names = append(names, one.Name)
	}
	if near := nearNames(reference, names); len(near) > 0 {
		message += "; near it: " + terminal.Safe(strings.Join(near, ", "))
	}
	return errors.New(message)
}

// nearNames returns at most three names like the one written, the most alike
// first: those it is the beginning of, such as a host without its domain, and
// those where few letters are to be changed.
func nearNames(written string, names []string) []string {
	lower := strings.ToLower(written)
	rank := func(name string) int {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, lower) {
			return 0
		}
		return frame.Distance(lower, name)
	}
	near := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return rank(name) > max(2, len(written)/4) })
	slices.SortFunc(near, func(a, b string) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a, b)) })
	return near[:min(3, len(near))]
}

// providerNames finds the names of providers that an answer tells only by uuid.
// One that is gone by then has its uuid as name.
type providerNames struct {
	service *client.Client
	known   map[uuid.UUID]string
}

// newProviderNames knows the names of those providers that were read already.
func newProviderNames(service *client.Client, read ...api.Provider) *providerNames {
	names := &providerNames{service: service, known: map[uuid.UUID]string{}}
	for _, one := range read {
		names.known[one.UUID] = one.Name
	}
	return names
}

// FewProviders are asked for one by one; of more, all are listed in one request.
const FewProviders = 20

// learn finds the names of many at once. Afterwards they are in known.
func (n *providerNames) learn(ctx context.Context, ids []uuid.UUID) error {
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
		for _, one := range all {
			n.known[one.UUID] = one.Name
			delete(missing, one.UUID)
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
