package apicommand

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

// explainFlags are the flags of `berth explain`.
type explainFlags struct {
	*CandidateRequest
	list   bool
	filter client.ExplanationFilter
	format *string
}

func explainCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "explain [REQUEST-ID | QUERY | --resources CLASS=AMOUNT,...]",
		Short: "Explain why a query found nothing",
		Long: `Explain why a query for allocation candidates found nothing, or why a claim was rejected:
what each condition leaves, the trees that fail by least, the consumers without which the
query would fit there, and the changes of the query that give candidates. The command
changes nothing. It needs a service with berth 1.2. If the service does not have berth 1.6,
the command shows all consumers that hold what the trees lack.

With a request ID it explains a request of the past, whatever client sent it: the ID in
the log of the service, or the one in brackets in the log of Nova. The service keeps such
requests for its setting explain-keep. With the flags of 'berth candidate list', or with
a query in the syntax of the API, it explains that query now; without limit=N in the
query, it sends limit=10. With --list it lists the requests of the past that found
nothing.

` + groupHelp + `

Times are in UTC. The JSON is the response of the API.

Exit codes: 0 explained, 1 failed or nothing is kept of the request, 2 the request ID, the
query or a flag is invalid.`,
		Example: `  berth explain req-6b6837d1-5af3-4138-b4ed-e0275c3efda4
  berth explain --resources VCPU=8,MEMORY_MB=16384 --required HW_CPU_X86_AVX2
  berth explain 'resources=VCPU:8,MEMORY_MB:16384&required=HW_CPU_X86_AVX2'
  berth explain --list --since 2h --sort=-requests`,
	}
	flags := &explainFlags{format: frame.ReportFlag(command), CandidateRequest: candidateFlags(f, command, false)}
	flags.add(command)
	command.Args = flags.checkArguments
	command.ValidArgsFunction = completing(f, completeExplanations, 1)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		switch {
		case flags.list:
			return explainList(ctx, f, service, flags)
		case len(arguments) == 0:
			return explainFlagsNow(ctx, f, service, flags)
		case strings.Contains(arguments[0], "="):
			return explainQuestion(ctx, f, service, *flags.format, arguments[0])
		}
		return explainRequest(ctx, f, service, *flags.format, arguments[0])
	})
	return command
}

// add adds the flags to the command.
func (e *explainFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.SortFlags = false
	flags.BoolVar(&e.list, "list", false, "whether the requests of the past that found nothing are listed")
	flags.StringVar(&e.filter.Since, "since", "", "earliest `time` of the last request, such as 2h or 2026-11-20T10:00:00Z; with --list")
	flags.StringVar(&e.filter.Reason, "reason", "", "`reason` of the result, such as no_tree; with --list")
	flags.StringVar(&e.filter.Kind, "kind", "", "`kind` of the requests: candidates or claim; with --list")
	flags.StringVar(&e.filter.Sort, "sort", "", "`order`: -last_asked_at or -requests, the most frequent first; with --list (default: -last_asked_at)")
	flags.Lookup("limit").Usage = "maximum `number` of candidates, or of elements with --list, where the default is 100; 0 means no limit"
	frame.CompleteChoices(c, "reason", "in_tree", "root", "amount", "trait", "aggregate", "no_tree", "together", "inventory", "units", "capacity")
	frame.CompleteChoices(c, "kind", "candidates", "claim")
	frame.CompleteChoices(c, "sort", "-last_asked_at", "-requests")
}

// listFlags are the flags that need --list.
var listFlags = []string{"since", "reason", "kind", "sort"}

// defaultListed is how many elements --list shows without --limit.
const defaultListed = 100

// checkArguments is the Args function of the command.
func (e *explainFlags) checkArguments(c *cobra.Command, arguments []string) error {
	if e.list {
		if e.filter.Limit = e.Asked.Limit; !c.Flags().Changed("limit") {
			e.filter.Limit = defaultListed
		}
		if e.filter.Limit < 0 {
			return frame.WrongFlag("limit", fmt.Sprint(e.filter.Limit), "is negative", "write the maximum number of elements, or 0 for no limit")
		}
		if len(arguments) > 0 {
			return errors.New("--list has no argument")
		}
		return nil
	}
	for _, name := range listFlags {
		if flag := c.Flags().Lookup(name); flag.Changed {
			return frame.WrongFlag(name, flag.Value.String(), "is used without --list", "add --list")
		}
	}
	hasFlags := e.Asked.Resources != "" || len(e.groups) > 0
	switch {
	case len(arguments) == 1 && hasFlags:
		return errors.New("an argument and the flags of a query; omit one of them")
	case len(arguments) > 1, len(arguments) == 0 && !hasFlags:
		return fmt.Errorf("%d arguments, want one request ID or query, the flags of a query such as --resources, or --list", len(arguments))
	}
	return nil
}

// explainRequest explains requests of the past.
func explainRequest(ctx context.Context, f *frame.Frame, service *client.Client, format, id string) error {
	digits, isID := strings.CutPrefix(id, "req-")
	if _, isUUID := hyphenatedUUID(digits); !isID || !isUUID {
		return frame.WrongArgument("request ID", id, "is neither 'req-' and a UUID nor a query", "write a request ID from a log, or a query such as 'resources=VCPU:8'")
	}
	found, err := withFreed(ctx, func(ctx context.Context) ([]client.RecordedExplanation, error) {
		return service.ExplanationShow(ctx, id)
	})
	if err != nil {
		return explanationError(err, "berth:explanations:show")
	}
	if frame.IsDocument(format) {
		return frame.WriteDocument(f.Stdout, format, map[string]any{"explanations": found})
	}
	reader := newHolderReader(service)
	for i := range found {
		if i > 0 {
			if err := f.Printf(""); err != nil {
				return err
			}
		}
		text := newExplanationText(f)
		text.head(&found[i], id, time.Now())
		text.explain(found[i].Explanation, reader.find(ctx, found[i].Explanation, true))
		if err := text.print(f.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// defaultQuestionLimit is the limit of a query without one.
const defaultQuestionLimit = "limit=10"

// explainQuestion explains a query now.
func explainQuestion(ctx context.Context, f *frame.Frame, service *client.Client, format, question string) error {
	if _, query, isURL := strings.Cut(question, "?"); isURL {
		question = query // a URL, as in logs
	}
	hasLimit := false
	for pair := range strings.SplitSeq(question, "&") {
		name, _, _ := strings.Cut(pair, "=")
		hasLimit = hasLimit || name == "limit"
	}
	if !hasLimit {
		question += "&" + defaultQuestionLimit
	}
	found, err := withFreed(ctx, func(ctx context.Context) (client.CandidateExplanation, error) {
		return service.QuestionExplain(ctx, question)
	})
	if err != nil {
		return explanationError(err, "berth:explanations:make")
	}
	return printExplained(ctx, f, service, format, &found)
}

// explainFlagsNow explains the query of the flags now.
func explainFlagsNow(ctx context.Context, f *frame.Frame, service *client.Client, flags *explainFlags) error {
	query, err := flags.query(ctx, service)
	if err != nil {
		return err
	}
	found, err := withFreed(ctx, func(ctx context.Context) (client.CandidateExplanation, error) {
		return service.CandidateExplain(ctx, query, client.ExplainAlways)
	})
	if err != nil {
		return explanationError(err, "berth:explanations:make")
	}
	return printExplained(ctx, f, service, *flags.format, &found)
}

// withFreed asks for an explanation that says which consumers must go, or for one without them if the service has no such ones.
func withFreed[T any](ctx context.Context, explain func(context.Context) (T, error)) (T, error) {
	found, err := explain(client.WithExtensions(ctx, berth16))
	if errors.Is(err, client.ErrExtensions) {
		return explain(ctx)
	}
	return found, err
}

// printExplained prints the explanation of a query.
func printExplained(ctx context.Context, f *frame.Frame, service *client.Client, format string, found *client.CandidateExplanation) error {
	if frame.IsDocument(format) {
		return frame.WriteDocument(f.Stdout, format, found)
	}
	text := newExplanationText(f)
	text.explain(found.Explanation, newHolderReader(service).find(ctx, found.Explanation, false))
	return text.print(f.Stdout)
}

// explanationError returns the error of a request for an explanation, which policy permits with a rule.
func explanationError(err error, rule string) error {
	var escape url.EscapeError
	if errors.As(err, &escape) {
		return &frame.CodedError{Code: frame.ExitUsage, Cause: err}
	}
	return readError(notFoundText(err), "has no explanations", "1.2", "explanations to this user; the rule is "+rule)
}

// readError returns the error of a request that needs a version of the extensions, without which the service lacks something,
// and that policy may deny.
func readError(err error, lacks, version, denied string) error {
	var failed *client.Error
	switch {
	case errors.Is(err, client.ErrExtensions):
		return fmt.Errorf("the service %s, because it does not have berth %s: %w", lacks, version, err)
	case errors.Is(err, client.ErrForbidden):
		return fmt.Errorf("policy does not permit %s: %w", denied, err)
	case errors.As(err, &failed) && failed.Status == http.StatusBadRequest:
		return invalidQuery(failed)
	}
	return err
}

// notFoundText returns the text of the service for a status of 404, and other errors as they are.
func notFoundText(err error) error {
	var failed *client.Error
	if errors.As(err, &failed) && failed.Status == http.StatusNotFound && !errors.Is(err, client.ErrExtensions) {
		return errors.New(terminal.Safe(failed.Detail))
	}
	return err
}

// unknownParameter is the error of the service for a parameter that it does not know.
var unknownParameter = regexp.MustCompile(`^Invalid query string parameters: '([^']*)' does not match any of the regexes`)

// invalidQuery returns the error of a query or a flag that the service rejects, without the schema that the service
// repeats.
func invalidQuery(failed *client.Error) error {
	if unknown := unknownParameter.FindStringSubmatch(failed.Detail); unknown != nil {
		return frame.WrongArgument("query", unknown[1], "is not a parameter of allocation candidates", "write parameters such as resources, required or member_of")
	}
	if strings.Contains(failed.Detail, "No such ") {
		return failed // the caller names the flag
	}
	text, _, _ := strings.Cut(failed.Detail, "Failed validating")
	text = strings.TrimSpace(strings.TrimPrefix(text, "Invalid query string parameters: "))
	return &frame.CodedError{Code: frame.ExitUsage, Cause: fmt.Errorf("the service rejects the request: %s (%s)",
		terminal.Safe(text), failed.RequestID)}
}

// completeExplanations returns the ids of the newest requests that found nothing.
func completeExplanations(service *client.Client, ctx context.Context) ([]string, error) {
	const newest = 20
	found, err := service.ExplanationList(ctx, client.ExplanationFilter{Limit: newest})
	var ids []string
	for i := range found {
		ids = append(ids, found[i].RequestIDs...)
	}
	return ids, err
}

// explainList lists requests of the past.
func explainList(ctx context.Context, f *frame.Frame, service *client.Client, flags *explainFlags) error {
	found, err := service.ExplanationList(ctx, flags.filter)
	if err != nil {
		return explanationError(err, "berth:explanations:list")
	}
	table := [][]string{{"LAST ASKED", "REQUESTS", "KIND", "REASON", "NEWEST REQUEST", "SUMMARY"}}
	for i := range found {
		explanation, id, summary := &found[i], "", ""
		if len(explanation.RequestIDs) > 0 {
			id = explanation.RequestIDs[0]
		}
		if explanation.Summary != nil {
			summary = *explanation.Summary
		}
		table = append(table, []string{
			explanation.LastAskedAt.UTC().Format(time.DateTime), fmt.Sprint(explanation.Requests), explanation.Kind, explanation.Reason, frame.OrDash(id), frame.OrDash(summary),
		})
	}
	noteLimit(f, "explanations", flags.filter.Limit, len(found))
	return frame.PrintAs(f.Stdout, *flags.format, map[string]any{"explanations": found}, table)
}
