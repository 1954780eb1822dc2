package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/server/placement"
	"github.com/berthd/berth/server/store"
)

func (p *process) planCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "plan QUERY",
		Short: "Show how PostgreSQL finds allocation candidates",
		Long: `Answer a query string of GET /allocation_candidates and show, for each statement
that this took, the SQL, its arguments, the plan with what it cost (EXPLAIN, ANALYZE,
BUFFERS), and how many rows each part of it gave. The statements only read, and are
run three times each: once to answer, twice to explain.

Give the query a limit: one without asks for everything there is. What to look for in a
plan is in docs/dba.md.`,
		Example: `  berth plan 'resources=VCPU:1,MEMORY_MB:512&limit=10'
  berth plan --microversion 1.31 'resources=VCPU:1&required=HW_CPU_X86_AVX2&limit=10'
  berth plan --output json 'resources1=PGPU:1&resources2=PGPU:1&group_policy=isolate&limit=10'`,
		Args: cobra.ExactArgs(1),
	}
	format := outputFlag(command)
	wanted := command.Flags().String("microversion", "", "`version` at which the query is asked, or latest (default latest)")
	addSettingFlags(command.Flags(), forDatabase)
	var query string
	run := p.printing(format, func(ctx context.Context, d *database, _ *slog.Logger) error {
		version, err := findMicroversion(placement.API(), *wanted)
		if err != nil {
			return err
		}
		opened, err := store.Open(ctx, store.Options{URL: d.url, MaxConns: 1})
		if err != nil {
			return err
		}
		defer opened.Close()
		plan, err := placement.CandidatePlan(ctx, opened, query, version, placement.CandidateOptions{Max: -1})
		if err != nil {
			return err
		}
		if *format == "json" {
			return printAs(p.stdout, *format, plan, nil)
		}
		return printPlan(p.stdout, plan)
	})
	command.RunE = func(c *cobra.Command, arguments []string) error {
		query = strings.TrimPrefix(arguments[0], "?")
		return run(c, nil)
	}
	return command
}

// printPlan writes a plan for people: one chapter for each statement.
func printPlan(to io.Writer, plan *store.CandidatePlan) error {
	var text strings.Builder
	for i, step := range plan.Steps {
		fmt.Fprintf(&text, "== %d. %s\n\n%s\n\n", i+1, step.Name, step.SQL)
		for place, argument := range step.Arguments {
			fmt.Fprintf(&text, "$%d = %s\n", place+1, argument)
		}
		fmt.Fprintf(&text, "\n%s\n\nRows:", step.Plan)
		for _, part := range step.Rows {
			fmt.Fprintf(&text, " %s %d", part.Part, part.Rows)
		}
		text.WriteString("\n\n")
	}
	fmt.Fprintf(&text, "%d trees looked at, %d of them have what each group asks for, %d candidates\n",
		plan.Tally.Roots, plan.Tally.Trees, plan.Tally.Candidates)
	_, err := io.WriteString(to, text.String())
	return err
}
