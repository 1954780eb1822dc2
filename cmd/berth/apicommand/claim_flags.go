package apicommand

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/exactjson"
)

// claimFlags are the flags of `berth claim`.
type claimFlags struct {
	*ClaimQueries
	owner                  OwnerFlags
	apart, together        string
	file                   string
	replace                bool
	handOver, handOverType string
	generation             generationChoice
	lease                  leaseFlags
	key                    string
	dryRun                 *bool
	format                 *string

	// handOverTo is the parsed handOver, and read are the candidates of file.
	handOverTo uuid.UUID
	read       []client.ClaimCandidate
	// terms is the lease; nil: the consumers keep theirs.
	terms *client.LeaseTerms
}

func newClaimFlags(f *frame.Frame, c *cobra.Command) *claimFlags {
	claim := &claimFlags{format: frame.ReportFlag(c), ClaimQueries: NewClaimQueries(f, c)}
	flags := c.Flags()
	flags.StringVar(&claim.apart, "apart", "", "`level` at which several consumers are apart: root, no two in one tree")
	flags.StringVar(&claim.together, "together", "", "`level` at which several consumers are together: root, all in one tree")
	flags.StringVar(&claim.file, "candidates", "", "JSON `file` with allocation candidates instead of a query, of which the first that fits is claimed; - for standard input")
	claim.owner.add(c)
	flags.BoolVar(&claim.replace, "replace", false, "whether the allocations of the consumer are replaced; they count as free capacity")
	flags.StringVar(&claim.handOver, "hand-over", "", "new `consumer` that gets the allocations of the consumer, such as a migration")
	flags.StringVar(&claim.handOverType, "hand-over-type", "MIGRATION", "`type` of the consumer of --hand-over")
	claim.generation = generationFlag(c)
	claim.lease.add(c)
	flags.StringVar(&claim.key, "key", "", "`Idempotency-Key` with which the command can be repeated; auto makes one and prints it (default: none)")
	claim.dryRun = dryRunFlag(c)
	frame.CompleteChoices(c, "apart", "root")
	frame.CompleteChoices(c, "together", "root")
	frame.CompleteChoices(c, "key", "auto")
	frame.CompleteChoices(c, "hand-over-type", "MIGRATION")
	return claim
}

// existing returns what becomes of the allocations of the consumer.
func (c *claimFlags) existing() client.ExistingAllocations {
	switch {
	case c.replace:
		return client.ExistingReplace
	case c.handOver != "":
		return client.ExistingHandOver
	}
	return client.ExistingRefuse
}

// check returns an error for flags that contradict each other.
func (c *claimFlags) check(consumers []uuid.UUID) error {
	for _, level := range []struct{ flag, value string }{{"apart", c.apart}, {"together", c.together}} {
		if level.value != "" && level.value != "root" {
			return frame.WrongFlag(level.flag, level.value, "is not one of the choices", "write root")
		}
	}
	single := []struct {
		flag, value string
	}{{"candidates", c.file}, {"replace", boolText(c.replace)}, {"hand-over", c.handOver}}
	for _, item := range single {
		if item.value != "" && len(consumers) > 1 {
			return frame.WrongFlag(item.flag, item.value, "is for a single consumer", "write one consumer")
		}
	}
	switch {
	case c.replace && c.handOver != "":
		return frame.WrongFlag("hand-over", c.handOver, "conflicts with --replace", "omit one of them")
	case c.apart != "" && c.together != "":
		return frame.WrongFlag("apart", c.apart, "conflicts with --together", "omit one of them")
	case *c.generation.text != "" && c.existing() == client.ExistingRefuse:
		return frame.WrongFlag("generation", *c.generation.text, "is for a consumer that has allocations", "add --replace or --hand-over, or omit it")
	case c.file != "" && (c.apart != "" || c.together != ""):
		return frame.WrongFlag("candidates", c.file, "conflicts with --apart and --together", "omit them")
	case c.file != "" && !c.IsEmpty():
		return frame.WrongFlag("candidates", c.file, "conflicts with the flags of a query", "omit one of them")
	}
	if c.handOver != "" {
		id, err := uuid.Parse(c.handOver)
		if err != nil {
			return frame.WrongFlag("hand-over", c.handOver, "is not a UUID", "write the UUID of a new consumer")
		}
		c.handOverTo = id
	}
	return nil
}

func boolText(value bool) string {
	if value {
		return "true"
	}
	return ""
}

// needsExtensions returns the first flag that needs berth 1.3, or "".
func (c *claimFlags) needsExtensions(consumers []uuid.UUID) string {
	switch {
	case c.apart != "":
		return "--apart"
	case c.together != "":
		return "--together"
	case len(c.earlier) > 0:
		return "--else"
	case c.file != "":
		return "--candidates"
	case c.handOver != "":
		return "--hand-over"
	case c.key != "":
		return "--key"
	case *c.dryRun:
		return "--dry-run"
	case len(consumers) > 1:
		return "a claim of several consumers"
	}
	return ""
}

// idempotencyKey returns the key of --key. It prints a new one before the request, so that it is known whatever happens.
func (c *claimFlags) idempotencyKey(f *frame.Frame) string {
	if c.key != "auto" {
		return c.key
	}
	key := uuid.NewString()
	fmt.Fprintf(f.Stderr, "berth: repeat this command with --key %s\n", key)
	return key
}

// readCandidates reads the file of --candidates: a list of candidates, or a response of GET /allocation_candidates.
func (c *claimFlags) readCandidates() error {
	text, err := readInput(c.file)
	if err != nil {
		return frame.WrongFlag("candidates", c.file, fmt.Sprintf("cannot be read: %v", err), "name a JSON file, or - for standard input")
	}
	if c.read, err = parseCandidates(text); err != nil {
		return frame.WrongFlag("candidates", c.file, fmt.Sprintf("is not a list of candidates: %v", err),
			"write the list allocation_requests of GET /allocation_candidates")
	}
	return nil
}

func parseCandidates(text []byte) ([]client.ClaimCandidate, error) {
	var whole struct {
		AllocationRequests []api.Candidate `json:"allocation_requests"`
	}
	var into any = &whole.AllocationRequests
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		into = &whole
	}
	if err := exactjson.Unmarshal(text, into); err != nil {
		return nil, err
	}
	if len(whole.AllocationRequests) == 0 {
		return nil, errors.New("it has no candidates")
	}
	var read []client.ClaimCandidate
	for _, candidate := range whole.AllocationRequests {
		request, err := client.ClaimOf(candidate, "", "", "")
		if err != nil {
			return nil, err
		}
		read = append(read, client.ClaimCandidate{Allocations: request.Allocations, Mappings: request.Mappings})
	}
	return read, nil
}
