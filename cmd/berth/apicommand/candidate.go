package apicommand

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

func candidateCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:     "candidate",
		Aliases: []string{"allocation-candidate"},
		Short:   "Query allocation candidates",
		Long: `Query allocation candidates. 'berth claim' runs the same query and claims a
candidate.`,
		Example: `  berth candidate list --resources VCPU=2,MEMORY_MB=512 --required HW_CPU_X86_AVX2`,
	}, candidateListCommand(f))
}

// candidateDocument is the JSON document of one candidate. Scripts depend on the names of its members.
type candidateDocument struct {
	Allocations []candidateAllocation  `json:"allocations"`
	Mappings    map[string][]uuid.UUID `json:"mappings"`
}

type candidateAllocation struct {
	Provider uuid.UUID `json:"resource_provider_uuid"`
	Name     string    `json:"resource_provider_name"`
	Root     uuid.UUID `json:"root_provider_uuid"`
	Class    string    `json:"resource_class"`
	Amount   int64     `json:"amount"`
	Used     int64     `json:"used"`
	Capacity int64     `json:"capacity"`
	// Groups are the suffixes of the request groups that the provider serves; the suffix of the
	// unsuffixed group is empty.
	Groups []string `json:"groups"`
}

func candidateListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List allocation candidates",
		Long: `List allocation candidates: sets of allocations on the providers of one tree and its
sharing providers. Each row is the amount of one resource class on one provider, with
its used amount and capacity; rows with the same number form one candidate. Recipes are
in docs/searching.md. If there is no candidate, the command prints the reason on standard
error, and exits with 0; 'berth explain' prints more.

` + groupHelp + `

The JSON is a list of candidates with the members allocations and mappings, which lists
the providers of each request group by suffix. Each of the allocations has the members
resource_provider_uuid, resource_provider_name, root_provider_uuid, resource_class,
amount, used, capacity and groups.`,
		Example: `  berth candidate list --resources VCPU=2,MEMORY_MB=512
  berth candidate list --resources VCPU=2 --required 'HW_CPU_X86_AVX2,!CUSTOM_OLD' --member-of in:AGG1,AGG2 --limit 3
  berth candidate list --resources VCPU=2 --group '_NET1:resources=SRIOV_NET_VF:1;required=CUSTOM_PHYSNET_A' \
    --group '_NET2:resources=SRIOV_NET_VF:1;in-tree=compute-1' --group-policy isolate`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	options := candidateFlags(f, command, false)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		documents, found, err := options.candidates(ctx, service)
		if err != nil {
			return err
		}
		err = frame.PrintAs(f.Stdout, *format, documents, candidateTable(documents))
		if len(documents) == 0 {
			printNothingFits(f, found.explanation)
		}
		noteLimit(f, "candidates", options.Asked.Limit, len(documents))
		if err == nil && *format == frame.OutputTable {
			options.noteSingleTree(ctx, f, service, found)
		}
		return err
	})
	return command
}

func candidateTable(documents []candidateDocument) [][]string {
	table := [][]string{{"CANDIDATE", "PROVIDER", "CLASS", "AMOUNT", "USED", "CAPACITY", "GROUPS"}}
	for i, candidate := range documents {
		for _, allocation := range candidate.Allocations {
			table = append(table, []string{
				fmt.Sprint(i + 1), allocation.Name, allocation.Class, fmt.Sprint(allocation.Amount), fmt.Sprint(allocation.Used),
				fmt.Sprint(allocation.Capacity), suffixText(allocation.Groups),
			})
		}
	}
	return table
}

// suffixText returns the suffixes of request groups, as a cell of a table.
func suffixText(suffixes []string) string {
	named := slices.DeleteFunc(slices.Clone(suffixes), func(suffix string) bool { return suffix == "" })
	return frame.OrDash(strings.Join(named, ", "))
}

// candidates queries allocation candidates and the names of their providers.
func (w *CandidateRequest) candidates(ctx context.Context, service *client.Client) ([]candidateDocument, *foundCandidates, error) {
	found, err := w.list(ctx, service)
	if err != nil {
		return nil, nil, err
	}
	names := newProviderNames(service)
	var used []uuid.UUID
	for _, candidate := range found.AllocationRequests {
		for provider := range candidate.Allocations {
			used = append(used, uuid.MustParse(provider))
		}
	}
	if err := names.load(ctx, used); err != nil {
		return nil, nil, err
	}
	documents := make([]candidateDocument, 0, len(found.AllocationRequests))
	for _, candidate := range found.AllocationRequests {
		documents = append(documents, documentOfCandidate(candidate, found.ProviderSummaries, names))
	}
	return documents, &found, nil
}

// documentOfCandidate returns the document of a candidate. It sorts providers by name, because their
// order in responses is undefined.
func documentOfCandidate(candidate api.Candidate, summaries map[string]api.ProviderSummary, names *providerNames) candidateDocument {
	document := candidateDocument{Allocations: []candidateAllocation{}, Mappings: candidate.Mappings}
	groups := map[string][]string{}
	for _, suffix := range sortedKeys(candidate.Mappings) {
		for _, provider := range candidate.Mappings[suffix] {
			groups[provider.String()] = append(groups[provider.String()], suffix)
		}
	}
	for _, text := range sortedKeys(candidate.Allocations) {
		provider, summary := uuid.MustParse(text), summaries[text]
		for _, class := range sortedKeys(candidate.Allocations[text].Resources) {
			inventory := summary.Resources[class]
			document.Allocations = append(document.Allocations, candidateAllocation{
				Provider: provider, Name: names.known[provider], Root: summary.RootProviderUUID, Class: class,
				Amount: candidate.Allocations[text].Resources[class], Used: inventory.Used, Capacity: int64(inventory.Capacity), Groups: groups[text],
			})
		}
	}
	slices.SortStableFunc(document.Allocations, func(a, b candidateAllocation) int { return strings.Compare(a.Name, b.Name) })
	return document
}
