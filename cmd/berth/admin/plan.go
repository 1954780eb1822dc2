package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/cmd/berth/plan"
)

func planCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "plan REQUEST",
		Short: "Show how PostgreSQL executes a request",
		Long: `Serve one request in this process and show each statement that it sends to
PostgreSQL: time, planning time, rows, buffers and the slowest nodes of the plan
(EXPLAIN with ANALYZE and BUFFERS). REQUEST is a GET request to either API, a claim
(PUT /allocations/{consumer_uuid}, POST /allocations), POST /allocation_candidates with
--berth 1.1 or newer, or the query string of GET /allocation_candidates.

The request is served twice as an administrator, to warm up caches. Each statement is
then executed once more, once to look inside functions, and once with EXPLAIN; with
--verbose two more times. Nothing is committed: a claim is rolled back each time. It
holds its row locks while it runs, and leaves dead rows and used values of sequences.
Statements inside functions are shown if the role may load auto_explain. Options of a
running server, such as the limit of candidates, do not apply.

Exit codes: 0 the plans are printed, 1 no statement was sent or the database failed,
2 the command line is wrong. What to look for in a plan is in docs/database-reference.md.`,
		Example: `  berth plan 'GET /resource_providers?resources=VCPU:1'
  berth plan --verbose '/allocation_candidates?resources=VCPU:1,MEMORY_MB:512&limit=10'
  berth plan --microversion 1.28 --body claim.json 'PUT /allocations/0c2e1f4a-6f0a-4d0b-9a37-3f0d5c8f2b11'
  berth plan --berth 1.1 --body query.json 'POST /allocation_candidates'
  berth plan --output json 'GET /v1/nodes?resource_class=CUSTOM_SMALL'`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.ReportFlag(command)
	version := command.Flags().String("microversion", "", "`microversion` of the API, or latest (default latest)")
	extension := command.Flags().String("berth", "", "`version` of Berth's extensions, or latest (default none)")
	body := command.Flags().String("body", "", "`file` with the JSON body of a PUT or POST request; - reads standard input")
	verbose := command.Flags().Bool("verbose", false, "also print the text, arguments and plan of each statement")
	config.AddFlags(command.Flags(), config.ForDatabase)
	command.RunE = func(c *cobra.Command, arguments []string) error {
		request, err := readPlanRequest(arguments[0], *version, *extension, *body)
		if err != nil {
			return err
		}
		return open.OnDatabase(f, true, func(ctx context.Context, d *open.Database, log *slog.Logger) error {
			report, err := plan.Explain(ctx, plan.Options{
				URL: d.URL, DirectURL: d.Direct, Pooler: d.Pooler, Text: *verbose, Log: log,
			}, request)
			switch {
			case err != nil:
				return err
			case frame.IsDocument(*format):
				return frame.PrintAs(f.Stdout, *format, report, nil)
			}
			if err := report.WritePage(f.Stdout); err != nil || !*verbose {
				return err
			}
			return report.WriteDetails(f.Stdout)
		})(c, nil)
	}
	return command
}

// readPlanRequest reads the arguments of the command before it opens the database.
func readPlanRequest(text, version, extension, body string) (plan.Request, error) {
	wrong := func(name, value, origin string, err error) (plan.Request, error) {
		return plan.Request{}, frame.InputErrors{&frame.InputError{
			Setting: name, Value: value, Origin: origin, Rule: frame.Rule{Broken: "is not accepted", Remedy: err.Error()},
		}}
	}
	request, err := plan.ParseRequest(text)
	if err != nil {
		return wrong("request", text, "argument", err)
	}
	api := apiPlacement
	if request.IsBaremetal() {
		api = apiBaremetal
	}
	table, err := tableOf(api)
	if err != nil {
		return request, err
	}
	at, err := findMicroversion(table.API(), version)
	if err != nil {
		return request, err
	}
	request.Microversion = at.String()
	switch {
	case extension == "" && request.IsSearch():
		return wrong("request", text, "argument", errors.New("add --berth 1.1, the first version with this request"))
	case extension != "":
		selected, err := parseExtension(extension)
		if err != nil {
			return request, err
		}
		request.Extension = selected.String()
	}
	if request.Body, err = readPlanBody(body); err == nil {
		err = request.CheckBody()
	}
	if err != nil {
		return wrong("body", body, "flag --body", err)
	}
	return request, nil
}

// readPlanBody reads a file, or standard input for "-". Without a name there is no body.
func readPlanBody(name string) ([]byte, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}
