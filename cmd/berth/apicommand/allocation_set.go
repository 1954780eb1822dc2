package apicommand

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
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

// fill sets project, user and type of the consumer from the flags. Without a flag it keeps the value
// of an existing consumer. A new consumer requires a project and a user.
func (o OwnerFlags) fill(consumer *client.Consumer) error {
	current := client.Consumer{}
	if consumer.Generation != nil {
		current = *consumer
	}
	consumer.ProjectID = cmp.Or(o.Project, current.ProjectID)
	consumer.UserID = cmp.Or(o.User, current.UserID)
	consumer.Type = cmp.Or(o.Kind, current.Type, client.NoType)
	return checkOwner(consumer)
}

// checkOwner returns an error if the consumer lacks a project or a user.
func checkOwner(consumer *client.Consumer) error {
	switch {
	case consumer.ProjectID == "":
		return frame.WrongFlag("project", "", "is empty", "write the project ID of the new consumer")
	case consumer.UserID == "":
		return frame.WrongFlag("user", "", "is empty", "write the user ID of the new consumer")
	default:
		return nil
	}
}

func allocationSetCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "set CONSUMER [--on PROVIDER=CLASS:AMOUNT,...]",
		Short: "Set the allocations or the lease of a consumer",
		Long: `Replace all allocations of a consumer, or with --amend those on the named providers. The
command prints the allocations as 'berth allocation show' does. Project, user and type
are unchanged by default; a new consumer requires a project and a user.

The server rejects allocations above the free capacity. 'berth claim' selects the
providers.

` + leaseHelp + ` Without --on the consumer keeps its allocations.

` + dryRunHelp,
		Example: `  berth allocation set 5f0d2a1e-0001-4000-8000-000000000001 --on compute-1=VCPU:2,MEMORY_MB:512 --on pool-1=DISK_GB:20 \
    --project demo --user alice --type INSTANCE
  berth allocation set 5f0d2a1e-0001-4000-8000-000000000001 --amend --on pool-1=DISK_GB:40
  berth allocation set 5f0d2a1e-0001-4000-8000-000000000001 --lease none`,
		Args: cobra.ExactArgs(1),
	}
	setting := &allocationSetting{}
	format := frame.ReportFlag(command)
	generation, dryRun := generationFlag(command), dryRunFlag(command)
	command.Flags().StringArrayVar(&setting.on, "on", nil, "allocations `PROVIDER=CLASS:AMOUNT,…`; repeatable")
	command.Flags().BoolVar(&setting.amend, "amend", false, "whether allocations on other providers are kept")
	setting.owner.add(command)
	setting.lease.add(command)
	completeProviderFlags(f, command, "on")
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = editConsumer(f, format, generation, dryRun, setting.prepare)
	return command
}

// allocationSetting are the flags of `berth allocation set`.
type allocationSetting struct {
	owner OwnerFlags
	lease leaseFlags
	on    []string
	amend bool
}

// prepare returns the edit of the flags.
func (s *allocationSetting) prepare(ctx context.Context, service *client.Client) (consumerEdit, error) {
	terms, err := s.lease.terms(time.Now())
	if err != nil {
		return nil, err
	}
	if terms != nil {
		if _, has, err := selectLeases(ctx, service); err != nil {
			return nil, err
		} else if !has {
			return nil, needsExtensions(ctx, service, s.lease.given(), berth16)
		}
	}
	isLeaseOnly := terms != nil && len(s.on) == 0
	named := map[uuid.UUID]client.Resources{}
	if !isLeaseOnly {
		if named, err = parseAmounts(ctx, service, s.on); err != nil {
			return nil, err
		}
	}
	return func(id uuid.UUID, consumer *client.Consumer) error {
		switch {
		case isLeaseOnly && consumer.Generation == nil:
			return fmt.Errorf("consumer %s has no allocations; write them with --on", id)
		case !isLeaseOnly && !s.amend:
			clear(consumer.Allocations)
		}
		maps.Copy(consumer.Allocations, named)
		consumer.NewLease = terms
		if err := s.owner.fill(consumer); err != nil {
			return err
		}
		if terms != nil && consumer.Type == client.NoType {
			return frame.WrongFlag("type", "", "is empty", "write the type of the consumer, such as JOB, which a lease needs")
		}
		return nil
	}, nil
}

// consumerEdit changes the allocations and the owner of a consumer.
type consumerEdit func(id uuid.UUID, consumer *client.Consumer) error

// editConsumer returns the function of a command that edits the consumer of its first argument and
// prints its allocations. It calls prepare once to parse the flags, and the returned edit before each
// attempt to write.
func editConsumer(f *frame.Frame, format *string, generation generationChoice, dryRun *bool,
	prepare func(context.Context, *client.Client) (consumerEdit, error),
) func(*cobra.Command, []string) error {
	return connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		id, err := parseConsumer(arguments[0])
		if err != nil {
			return err
		}
		expected, err := generation.expected()
		if err != nil {
			return err
		}
		edit, err := prepare(ctx, service)
		if err != nil {
			return err
		}
		return write{f, service, *dryRun, *format}.run(ctx, func(ctx context.Context) error {
			return rewrite(ctx, expected,
				func() (*client.Consumer, int64, error) {
					consumer, err := service.AllocationList(ctx, id)
					return consumer, 0, err // the consumer has its generation
				},
				func(consumer *client.Consumer) (*client.Consumer, error) { return consumer, edit(id, consumer) },
				func(_ int64, consumer *client.Consumer) error {
					if expected != nil {
						consumer.Generation = expected
					}
					return service.AllocationReplace(ctx, id, consumer, nil)
				})
		}, func() error { return printConsumer(ctx, f, service, *format, id) })
	})
}

// parseAmounts parses the values of --on and returns the amounts by provider.
func parseAmounts(ctx context.Context, service *client.Client, texts []string) (map[uuid.UUID]client.Resources, error) {
	if len(texts) == 0 {
		return nil, frame.WrongFlag("on", "", "is empty", "write PROVIDER=CLASS:AMOUNT, or delete all allocations with 'berth allocation delete'")
	}
	amounts := map[uuid.UUID]client.Resources{}
	for _, text := range texts {
		at := amountsBegin(text)
		if at < 1 {
			return nil, frame.WrongFlag("on", text, "is not an allocation", "write PROVIDER=CLASS:AMOUNT,… such as compute-1=VCPU:2,MEMORY_MB:512")
		}
		resources, err := parseResources("on", text[at+1:])
		if err != nil {
			return nil, err
		}
		provider, err := FindProvider(ctx, service, text[:at])
		if err != nil {
			return nil, err
		}
		if amounts[provider.UUID] != nil {
			return nil, frame.WrongFlag("on", text, "repeats a provider", "write all amounts of a provider in one --on")
		}
		amounts[provider.UUID] = resources
	}
	return amounts, nil
}

// amountsOfProvider matches PROVIDER=CLASS:AMOUNT,CLASS=AMOUNT. The first group is the name of the provider.
var amountsOfProvider = regexp.MustCompile(`^(.+?)=[A-Za-z0-9_]+[:=][0-9]+([KMGTP]iB)?(,[A-Za-z0-9_]+[:=][0-9]+([KMGTP]iB)?)*$`)

// amountsBegin returns the index of the equals sign between a provider and its amounts, or -1. The name of the provider
// may contain equals signs: amounts are the longest valid list, or what follows the last sign.
func amountsBegin(text string) int {
	if parts := amountsOfProvider.FindStringSubmatchIndex(text); parts != nil {
		return parts[3]
	}
	return strings.LastIndex(text, "=")
}

// parseResources parses CLASS=AMOUNT,CLASS=AMOUNT; see cutAmount.
func parseResources(flag, text string) (client.Resources, error) {
	resources := client.Resources{}
	for part := range strings.SplitSeq(text, ",") {
		class, amount := cutAmount(part)
		class = upperClass(class)
		number, err := parseAmount(class, amount)
		if class == "" || err != nil || number < 1 {
			return nil, frame.WrongFlag(flag, text, fmt.Sprintf("contains %q, which is not CLASS=AMOUNT", part),
				"write whole amounts of at least 1, such as VCPU=2,MEMORY_MB=512 or MEMORY_MB=4GiB")
		}
		if _, repeated := resources[class]; repeated {
			return nil, frame.WrongFlag(flag, text, "repeats the class "+class, "write each class once")
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
ignores allocations that do not exist.

` + dryRunHelp,
		Example: `  berth allocation unset 5f0d2a1e-0001-4000-8000-000000000001 --provider pool-1
  berth allocation unset 5f0d2a1e-0001-4000-8000-000000000001 --class VGPU
  berth allocation unset 5f0d2a1e-0001-4000-8000-000000000001 --provider compute-1 --class VGPU --class PGPU`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.ReportFlag(command)
	generation, dryRun := generationFlag(command), dryRunFlag(command)
	providers := command.Flags().StringArray("provider", nil, "name or UUID of a `provider`; repeatable")
	classes := command.Flags().StringArray("class", nil, "resource `class`; repeatable")
	completeProviderFlags(f, command, "provider")
	completeFlag(f, command, "class", completeClasses)
	command.ValidArgsFunction = cobra.NoFileCompletions
	edit := func(ctx context.Context, service *client.Client) (consumerEdit, error) {
		if len(*providers)+len(*classes) == 0 {
			return nil, frame.WrongFlag("provider", "", "is empty", "write --provider or --class, or delete all allocations with 'berth allocation delete'")
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
				return fmt.Errorf("consumer %s has no allocations", id)
			}
			removeAllocations(consumer, named, *classes)
			return nil
		}, nil
	}
	command.RunE = editConsumer(f, format, generation, dryRun, edit)
	return command
}

// removeAllocations deletes the allocations of classes on providers. An empty list selects all
// providers or all classes.
func removeAllocations(consumer *client.Consumer, providers []uuid.UUID, classes []string) {
	if len(providers) == 0 {
		providers = sortedIDs(consumer.Allocations)
	}
	for _, provider := range providers {
		resources := consumer.Allocations[provider]
		if len(classes) == 0 {
			clear(resources)
		}
		for _, class := range classes {
			delete(resources, upperClass(class))
		}
		if len(resources) == 0 {
			delete(consumer.Allocations, provider)
		}
	}
}
