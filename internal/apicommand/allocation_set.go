package apicommand

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/connect"
	"github.com/berthd/berth/internal/frame"
)

// OwnerFlags holds the project, user and type of a consumer.
type OwnerFlags struct{ Project, User, Kind string }

func (o *OwnerFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&o.Project, "project", "", "project `ID` of the consumer")
	c.Flags().StringVar(&o.User, "user", "", "user `ID` of the consumer")
	c.Flags().StringVar(&o.Kind, "type", "", "`type` of the consumer, such as INSTANCE")
	frame.CompleteChoices(c, "type", "INSTANCE", "MIGRATION", "VOLUME")
	frame.CompleteChoices(c, "project")
	frame.CompleteChoices(c, "user")
}

// fill takes what the flags say, and where they are silent what the service knows
// of the consumer. A consumer that is new must be told.
func (o OwnerFlags) fill(consumer *client.Consumer) error {
	known := client.Consumer{}
	if consumer.Generation != nil {
		known = *consumer
	}
	consumer.ProjectID = cmp.Or(o.Project, known.ProjectID)
	consumer.UserID = cmp.Or(o.User, known.UserID)
	consumer.Type = cmp.Or(o.Kind, known.Type, client.NoType)
	return o.missing(consumer)
}

func (o OwnerFlags) missing(consumer *client.Consumer) error {
	switch {
	case consumer.ProjectID == "":
		return frame.WrongFlag("project", "", "is not known", "say which project the new consumer belongs to")
	case consumer.UserID == "":
		return frame.WrongFlag("user", "", "is not known", "say which user the new consumer belongs to")
	default:
		return nil
	}
}

func allocationSetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "set CONSUMER --on PROVIDER=CLASS:AMOUNT,...",
		Short: "Set the allocations of a consumer",
		Long: `Replace all allocations of a consumer, or with --amend those on the named providers. The
command prints the allocations as 'berth allocation show' does. Project, user and type
are unchanged by default; a new consumer requires a project and a user.

The server rejects allocations above the free capacity. 'berth allocation claim' selects
the providers.`,
		Example: `  berth allocation set 5f0d2a1e-0001-4000-8000-000000000001 --on compute-1=VCPU:2,MEMORY_MB:512 --on pool-1=DISK_GB:20 \
    --project demo --user alice --type INSTANCE
  berth allocation set 5f0d2a1e-0001-4000-8000-000000000001 --amend --on pool-1=DISK_GB:40`,
		Args: cobra.ExactArgs(1),
	}
	var owner OwnerFlags
	format := frame.OutputFlag(command)
	generation := generationFlag(command)
	places := command.Flags().StringArray("on", nil, "`PROVIDER=CLASS:AMOUNT,…`; repeated")
	amend := command.Flags().Bool("amend", false, "whether allocations on other providers are kept")
	owner.add(command)
	completeProviderFlags(f, command, "on")
	command.ValidArgsFunction = cobra.NoFileCompletions
	edit := func(ctx context.Context, service *client.Client) (consumerEdit, error) {
		named, err := parsePlaces(ctx, service, *places)
		if err != nil {
			return nil, err
		}
		return func(_ uuid.UUID, consumer *client.Consumer) error {
			if !*amend {
				clear(consumer.Allocations)
			}
			for provider, resources := range named {
				consumer.Allocations[provider] = resources
			}
			return owner.fill(consumer)
		}, nil
	}
	command.RunE = editingConsumer(f, format, generation, edit)
	return command
}

// consumerEdit changes what a consumer is to be.
type consumerEdit func(id uuid.UUID, consumer *client.Consumer) error

// editingConsumer makes a command that changes what the consumer of its first
// argument has, and shows it afterwards. Prepare reads the flags once; what it
// returns edits the consumer after each generation conflict.
func editingConsumer(f *frame.Frame, format *string, generation generationChoice,
	prepare func(context.Context, *client.Client) (consumerEdit, error),
) func(*cobra.Command, []string) error {
	return connect.WithClient(f, format, func(ctx context.Context, service *client.Client, arguments []string) error {
		id, err := parseConsumer(arguments[0])
		if err != nil {
			return err
		}
		wanted, err := generation.wanted()
		if err != nil {
			return err
		}
		edit, err := prepare(ctx, service)
		if err != nil {
			return err
		}
		err = rewrite(ctx, wanted,
			func() (*client.Consumer, int64, error) {
				consumer, err := service.AllocationList(ctx, id)
				return consumer, 0, err // the consumer itself carries its generation
			},
			func(consumer *client.Consumer) (*client.Consumer, error) { return consumer, edit(id, consumer) },
			func(_ int64, consumer *client.Consumer) error {
				if wanted != nil {
					consumer.Generation = wanted
				}
				return service.AllocationReplace(ctx, id, consumer, nil)
			})
		if err != nil {
			return err
		}
		return printConsumer(ctx, f, service, *format, id)
	})
}

// parsePlaces reads the values of --on and finds their providers.
func parsePlaces(ctx context.Context, service *client.Client, texts []string) (map[uuid.UUID]client.Resources, error) {
	if len(texts) == 0 {
		return nil, frame.WrongFlag("on", "", "names nothing", "write PROVIDER=CLASS:AMOUNT, or take everything away with 'berth allocation delete'")
	}
	places := map[uuid.UUID]client.Resources{}
	for _, text := range texts {
		// A name may have an equal sign, amounts have none.
		at := strings.LastIndex(text, "=")
		if at < 1 {
			return nil, frame.WrongFlag("on", text, "is no allocation", "write PROVIDER=CLASS:AMOUNT,… such as compute-1=VCPU:2,MEMORY_MB:512")
		}
		resources, err := parseResources("on", text[at+1:])
		if err != nil {
			return nil, err
		}
		provider, err := FindProvider(ctx, service, text[:at])
		if err != nil {
			return nil, err
		}
		if places[provider.UUID] != nil {
			return nil, frame.WrongFlag("on", text, "names the provider a second time", "write all its amounts after one --on")
		}
		places[provider.UUID] = resources
	}
	return places, nil
}

// parseResources reads CLASS:AMOUNT,CLASS:AMOUNT.
func parseResources(flag, text string) (client.Resources, error) {
	resources := client.Resources{}
	for part := range strings.SplitSeq(text, ",") {
		class, amount, _ := strings.Cut(part, ":")
		number, err := strconv.ParseInt(amount, 10, 64)
		if class == "" || err != nil || number < 1 {
			return nil, frame.WrongFlag(flag, text, fmt.Sprintf("has %q, which is no amount of a class", part), "write CLASS:AMOUNT,… with amounts from 1, such as VCPU:2,MEMORY_MB:512")
		}
		if _, twice := resources[class]; twice {
			return nil, frame.WrongFlag(flag, text, "names "+class+" twice", "write each class once")
		}
		resources[class] = number
	}
	return resources, nil
}

func allocationUnsetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "unset CONSUMER",
		Short: "Remove some allocations of a consumer",
		Long: `Remove the allocations of a consumer on some providers, of some resource classes, or
both. The command prints the remaining allocations as 'berth allocation show' does. It
ignores allocations that do not exist.`,
		Example: `  berth allocation unset 5f0d2a1e-0001-4000-8000-000000000001 --provider pool-1
  berth allocation unset 5f0d2a1e-0001-4000-8000-000000000001 --class VGPU
  berth allocation unset 5f0d2a1e-0001-4000-8000-000000000001 --provider compute-1 --class VGPU --class PGPU`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	generation := generationFlag(command)
	providers := command.Flags().StringArray("provider", nil, "name or UUID of a `provider`; repeatable")
	classes := command.Flags().StringArray("class", nil, "resource `class`; repeatable")
	completeProviderFlags(f, command, "provider")
	completeFlag(f, command, "class", completeClasses)
	command.ValidArgsFunction = cobra.NoFileCompletions
	edit := func(ctx context.Context, service *client.Client) (consumerEdit, error) {
		if len(*providers)+len(*classes) == 0 {
			return nil, frame.WrongFlag("provider", "", "names nothing", "name a part with --provider or --class, or take everything away with 'berth allocation delete'")
		}
		var named []uuid.UUID
		for _, reference := range *providers {
			found, err := FindProvider(ctx, service, reference)
			if err != nil {
				return nil, err
			}
			named = append(named, found.UUID)
		}
		return func(id uuid.UUID, consumer *client.Consumer) error {
			if consumer.Generation == nil {
				return fmt.Errorf("consumer %s has nothing", id)
			}
			takeAway(consumer, named, *classes)
			return nil
		}, nil
	}
	command.RunE = editingConsumer(f, format, generation, edit)
	return command
}

// takeAway removes classes from providers; no providers means all, no classes all.
func takeAway(consumer *client.Consumer, providers []uuid.UUID, classes []string) {
	if len(providers) == 0 {
		providers = sortedIDs(consumer.Allocations)
	}
	for _, provider := range providers {
		resources := consumer.Allocations[provider]
		if len(classes) == 0 {
			clear(resources)
		}
		for _, class := range classes {
			delete(resources, class)
		}
		if len(resources) == 0 {
			delete(consumer.Allocations, provider)
		}
	}
}
