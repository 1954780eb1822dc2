package apicommand

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

const claimHelp = `Find a place for one or several consumers and claim it, in one request. Each consumer
gets all resources of the query; all consumers succeed, or none. The flags of the query
are those of 'berth candidate list'. --else begins another query, which is used if the
queries before it find no place. Without --order, the service tries the trees in random
order.

Without CONSUMER, the command makes the UUID of a new consumer and prints it before the
request. A consumer that has allocations is an error without --replace or --hand-over. Project,
user and type are required for a new consumer. With exit code 0, the printed allocations
cover the query. If nothing fits, the command prints the reason on standard error.

` + leaseHelp + `

` + groupHelp + `

Against a service without berth 1.3 the command queries candidates and claims them in
two steps, at most --limit candidates. These need berth 1.3: several consumers, --apart,
--together, --else, --candidates, --hand-over, --key and --dry-run.

The JSON object has the members claims, query, candidate and effort. Each of the claims
has the members consumer_uuid, consumer_generation, project_id, user_id, consumer_type,
lease, root_provider_uuid, root_provider_name, mappings and allocations, a list with the
members resource_provider_uuid, resource_provider_name, resource_class, amount and groups.
With --dry-run it is the response of the API.

Exit codes: 0 claimed, 1 nothing fits or failed, 2 a flag is invalid.`

// allocationClaimCommand returns `berth allocation claim`, a hidden alias of `berth claim`.
func allocationClaimCommand(f *frame.Frame) *cobra.Command {
	command := claimCommand(f)
	command.Hidden = true
	return command
}

func claimCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "claim [CONSUMER]...",
		Short: "Find a place for consumers and claim it",
		Long:  claimHelp,
		Example: `  berth claim 5f0d2a1e-0001-4000-8000-000000000001 --resources VCPU=2,MEMORY_MB=512 \
    --project demo --user alice --type INSTANCE
  berth claim 5f0d2a1e-0001-4000-8000-000000000001 \
    5f0d2a1e-0002-4000-8000-000000000002 --resources VCPU=2 \
    --apart root --project demo --user alice --type INSTANCE
  berth claim 5f0d2a1e-0001-4000-8000-000000000001 --resources VCPU=4 --replace
  berth claim --resources VGPU=1 --project demo --user alice --type JOB --lease 10m --for 8h
  berth claim 5f0d2a1e-0001-4000-8000-000000000001 --resources VCPU=2 --not-in-tree compute-1 \
    --hand-over 5f0d2a1e-0003-4000-8000-000000000003`,
		Args: cobra.ArbitraryArgs,
	}
	flags := newClaimFlags(f, command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		call, err := newClaimCall(ctx, f, service, flags, arguments)
		if err != nil {
			return err
		}
		return call.run(ctx)
	})
	return command
}

// claimCall is one run of `berth claim`.
type claimCall struct {
	f         *frame.Frame
	service   *client.Client
	flags     *claimFlags
	consumers []uuid.UUID
	queries   []client.CandidateQuery
	// classes are the requested resource classes in the order of the flags.
	classes []string
	// inSteps is true if the service does not have berth 1.3.
	inSteps bool
}

func newClaimCall(ctx context.Context, f *frame.Frame, service *client.Client, flags *claimFlags, arguments []string) (*claimCall, error) {
	call := &claimCall{f: f, service: service, flags: flags}
	for _, text := range arguments {
		id, err := parseConsumer(text)
		if err != nil {
			return nil, err
		}
		call.consumers = append(call.consumers, id)
	}
	if err := flags.check(call.consumers); err != nil {
		return nil, err
	}
	var err error
	if flags.terms, err = flags.lease.terms(time.Now()); err != nil {
		return nil, err
	}
	if err := call.checkMissing(ctx); err != nil {
		return nil, err
	}
	if len(call.consumers) == 0 {
		call.consumers = []uuid.UUID{uuid.New()}
		fmt.Fprintf(f.Stderr, "berth: the new consumer is %s\n", call.consumers[0])
	}
	if flags.file != "" {
		return call, flags.readCandidates()
	}
	if call.queries, err = flags.Queries(ctx, service); err != nil {
		return nil, err
	}
	for i := range call.queries {
		call.classes = append(call.classes, classesOf(&call.queries[i])...)
	}
	return call, nil
}

// checkMissing returns an error for each argument and flag that the claim lacks, all at once. The server is asked for its
// extensions only if the answer decides whether something is missing.
func (c *claimCall) checkMissing(ctx context.Context) error {
	var missing frame.InputErrors
	lacks := func(flag, remedy string) {
		missing = append(missing, frame.WrongFlag(flag, "", "is empty", remedy))
	}
	isNew := c.flags.existing() == client.ExistingRefuse
	if !isNew && len(c.consumers) == 0 {
		missing = append(missing, frame.WrongArgument("consumer", "", "is missing", "write the UUID of the consumer that has allocations"))
	}
	if c.flags.file == "" {
		var empty frame.InputErrors
		errors.As(c.flags.Check(), &empty)
		missing = append(missing, empty...)
	}
	if isNew && c.flags.owner.Project == "" {
		lacks("project", "write the project ID of the new consumer")
	}
	if isNew && c.flags.owner.User == "" {
		lacks("user", "write the user ID of the new consumer")
	}
	if isNew && c.flags.owner.Kind == "" {
		hasTypes, err := c.service.HasExtensions(ctx, berth13)
		if err != nil && len(missing) == 0 {
			return err
		}
		if hasTypes {
			lacks("type", "write the type of the consumer, such as INSTANCE")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return missing
}

// classesOf returns the resource classes of a query in the order of the flags.
func classesOf(query *client.CandidateQuery) (classes []string) {
	for _, list := range resourceLists(query) {
		for part := range strings.SplitSeq(list, ",") {
			class, _, _ := strings.Cut(part, ":")
			if class != "" && !slices.Contains(classes, class) {
				classes = append(classes, class)
			}
		}
	}
	return classes
}

// resourceLists returns the amounts of a query: those of each group.
func resourceLists(query *client.CandidateQuery) []string {
	lists := []string{query.Resources}
	for _, group := range query.Groups {
		lists = append(lists, group.Resources)
	}
	return lists
}

// run claims in one request, or in two steps if the service does not have berth 1.3.
func (c *claimCall) run(ctx context.Context) error {
	hasClaims, err := c.service.HasExtensions(ctx, berth13)
	if err != nil {
		return err
	}
	ctx, hasLeases, err := selectLeases(ctx, c.service) // whose explanations say which consumers must go
	if err != nil {
		return err
	}
	if flag := c.flags.needsExtensions(c.consumers); flag != "" && !hasClaims {
		return needsExtensions(ctx, c.service, flag, berth13)
	}
	if flag := c.flags.lease.given(); flag != "" && !hasLeases {
		return needsExtensions(ctx, c.service, flag, berth16)
	}
	request, err := c.request(ctx, hasClaims)
	if err != nil {
		return err
	}
	if *c.flags.dryRun {
		return rehearse(ctx, c.f, c.service, *c.flags.format, func(ctx context.Context) error {
			_, err := c.service.ClaimCreate(ctx, *request)
			return c.failure(err)
		})
	}
	var places client.ClaimedPlaces
	if c.inSteps = !hasClaims; c.inSteps {
		places, err = c.claimInSteps(ctx, request.Consumers[0])
	} else {
		places, err = c.service.ClaimCreate(ctx, *request)
	}
	if err != nil {
		return c.failure(err)
	}
	if err := c.covers(&places); err != nil {
		return err
	}
	return c.print(ctx, &places)
}

// request returns the request to the service. It reads what the flags leave out of a consumer that has allocations.
func (c *claimCall) request(ctx context.Context, hasClaims bool) (*client.ClaimSearch, error) {
	request := &client.ClaimSearch{
		Queries: c.queries, Candidates: c.flags.read, Existing: c.flags.existing(),
		Apart: c.flags.apart, Together: c.flags.together,
	}
	expected, err := c.flags.generation.expected()
	if err != nil {
		return nil, err
	}
	for _, id := range c.consumers {
		consumer, err := c.consumer(ctx, id, hasClaims)
		if err != nil {
			return nil, err
		}
		if expected != nil {
			consumer.Generation = expected
		}
		request.Consumers = append(request.Consumers, client.ClaimConsumer{
			UUID: id, ProjectID: consumer.ProjectID, UserID: consumer.UserID, Type: consumer.Type, Generation: consumer.Generation,
			Lease: c.flags.terms,
		})
	}
	if to := c.flags.handOverTo; to != uuid.Nil {
		first := request.Consumers[0]
		request.HandOverTo = &client.ClaimConsumer{UUID: to, ProjectID: first.ProjectID, UserID: first.UserID, Type: c.flags.handOverType}
	}
	request.Key = c.flags.idempotencyKey(c.f)
	return request, nil
}

// consumer returns a consumer with the owner and type of the flags. A new consumer is only read from a service that
// cannot refuse one that exists.
func (c *claimCall) consumer(ctx context.Context, id uuid.UUID, hasClaims bool) (*client.Consumer, error) {
	consumer := &client.Consumer{}
	exists := c.flags.existing() != client.ExistingRefuse
	if exists || !hasClaims {
		var err error
		if consumer, err = c.service.AllocationList(ctx, id); err != nil {
			return nil, err
		}
		switch {
		case exists && consumer.Generation == nil:
			return nil, fmt.Errorf("consumer %s has no allocations; omit --replace and --hand-over", id)
		case !exists && consumer.Generation != nil:
			return nil, fmt.Errorf("consumer %s has allocations already; add --replace or --hand-over", id)
		}
	}
	if err := c.flags.owner.fill(consumer); err != nil {
		return nil, err
	}
	if hasClaims && consumer.Type == client.NoType {
		return nil, frame.WrongFlag("type", "", "is empty", "write the type of the consumer, such as INSTANCE")
	}
	return consumer, nil
}

// covers returns an error if a consumer has less than the query requests, which would be a bug of the service.
func (c *claimCall) covers(places *client.ClaimedPlaces) error {
	if places.Query == nil || *places.Query >= len(c.queries) {
		return nil // the service claimed a candidate of the file
	}
	wanted := client.Resources{}
	for _, list := range resourceLists(&c.queries[*places.Query]) {
		if list == "" {
			continue
		}
		amounts, err := parseResources("resources", list)
		if err != nil {
			return nil // the service has accepted it
		}
		for class, amount := range amounts {
			wanted[class] += amount
		}
	}
	for i := range c.consumers {
		has := client.Resources{}
		for _, resources := range places.Claims[i].Allocations {
			for class, amount := range resources {
				has[class] += amount
			}
		}
		for _, class := range sortedKeys(wanted) {
			if has[class] < wanted[class] {
				return fmt.Errorf("consumer %s has %d %s after the claim, of %d requested", c.consumers[i], has[class], class, wanted[class])
			}
		}
	}
	return nil
}
