package apicommand

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

// capacityFitsFlags are the flags of `berth capacity fits`.
type capacityFitsFlags struct {
	*CandidateRequest
	count           int
	apart, together string
	// changes are the values of --like and --change in their order.
	changes []changeFlag
	format  *string
}

// changeFlag is a value of --like or of --change.
type changeFlag struct{ flag, value string }

func capacityFitsCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "fits",
		Short: "Count how many more of something fit",
		Long: `Count for how many members, which all need what the flags describe, there are places
that hold together: a claim of so many would succeed. The command changes nothing. It
needs a service with berth 1.4.

AMOUNT is what one member uses, ENOUGH FOR how many members the free capacity of this
class alone is enough for, and STRANDED what remains free after the last member. The arrow
marks the class that ends first. The table is missing if the search ended early. With
--like and --change, which ask the same for other hardware, the command prints the number
and that of today; the JSON has the classes too.

` + groupHelp + `

Exit codes: 0 at least --count members fit, 1 fewer fit or the request failed, 2 a flag or
a name in it is invalid.`,
		Example: `  berth capacity fits --resources VCPU=4,MEMORY_MB=8192,DISK_GB=20 --count 1000
  berth capacity fits --resources VCPU=4,MEMORY_MB=8192 --change MEMORY_MB:ratio=1.5
  berth capacity fits --resources VCPU=4,MEMORY_MB=8192 --like compute-17:20 --apart root`,
		Args: cobra.NoArgs,
	}
	flags := &capacityFitsFlags{format: frame.ReportFlag(command), CandidateRequest: candidateFlags(f, command, true)}
	flags.add(f, command)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		return showCapacityFits(ctx, f, service, flags)
	})
	return command
}

// add adds the flags that candidates do not have.
func (q *capacityFitsFlags) add(f *frame.Frame, c *cobra.Command) {
	flags := c.Flags()
	flags.IntVar(&q.count, "count", 100, "`number` of members at which the search ends, at most 1000000")
	flags.StringVar(&q.apart, "apart", "", "`level` at which the members are apart: root, no two in one tree")
	flags.StringVar(&q.together, "together", "", "`level` at which the members are together: root, all in one tree")
	flags.Func("like", "`PROVIDER:NUMBER` of trees to add that are like the one of a provider, and empty; repeatable", q.addChange("like"))
	flags.Func("change", "`CLASS:ratio=R,reserved=N,in-tree=P,member-of=A`: other settings of the inventories of a class; repeatable, in the order of --like and --change", q.addChange("change"))
	frame.CompleteChoices(c, "apart", "root")
	frame.CompleteChoices(c, "together", "root")
}

// addChange returns the function that adds a value of a flag to the changes.
func (q *capacityFitsFlags) addChange(flag string) func(string) error {
	return func(value string) error {
		q.changes = append(q.changes, changeFlag{flag, value})
		return nil
	}
}

// question returns the question of the flags.
func (q *capacityFitsFlags) question(ctx context.Context, service *client.Client) (asked client.CapacityFitQuery, err error) {
	asked = client.CapacityFitQuery{Count: q.count, Apart: q.apart, Together: q.together}
	if q.count < 1 || q.count > 1_000_000 {
		return asked, frame.WrongFlag("count", strconv.Itoa(q.count), "is not a number from 1 to 1000000", "write the number of members")
	}
	if asked.Query, err = q.query(ctx, service); err != nil {
		return asked, err
	}
	for _, changeFlag := range q.changes {
		parse := parseLike
		if changeFlag.flag == "change" {
			parse = parseChange
		}
		change, err := parse(ctx, service, changeFlag.value)
		if err != nil {
			return asked, err
		}
		asked.Changes = append(asked.Changes, change)
	}
	return asked, nil
}

// parseLike parses a value of --like.
func parseLike(ctx context.Context, service *client.Client, text string) (change client.CapacityChange, err error) {
	at := strings.LastIndex(text, ":")
	count, failed := strconv.Atoi(text[at+1:])
	if at < 1 || failed != nil || count < 1 || count > 10_000 {
		return change, frame.WrongFlag("like", text, "is not a provider and a number from 1 to 10000", "write PROVIDER:NUMBER such as compute-17:20")
	}
	change.Count = count
	provider, err := FindProvider(ctx, service, text[:at])
	change.Like = &provider.UUID
	return change, err
}

const changeRemedy = "write CLASS:SETTING=VALUE,… such as MEMORY_MB:ratio=1.5,in-tree=compute-1"

// parseChange parses a value of --change.
func parseChange(ctx context.Context, service *client.Client, text string) (change client.CapacityChange, err error) {
	class, settings, _ := strings.Cut(text, ":")
	change.Class = upperClass(class)
	for setting := range strings.SplitSeq(settings, ",") {
		name, value, hasValue := strings.Cut(setting, "=")
		if class == "" || !hasValue || value == "" {
			return change, frame.WrongFlag("change", text, "is not a resource class with settings", changeRemedy)
		}
		var failed error
		switch name {
		case "ratio":
			change.AllocationRatio = new(float64)
			*change.AllocationRatio, failed = strconv.ParseFloat(value, 64)
		case "reserved":
			change.Reserved = new(int64)
			*change.Reserved, failed = strconv.ParseInt(value, 10, 32)
		case "in-tree":
			provider, err := FindProvider(ctx, service, value)
			if err != nil {
				return change, err
			}
			change.InTree = &provider.UUID
		case "member-of":
			var id uuid.UUID
			id, failed = uuid.Parse(value)
			change.MemberOf = &id
		default:
			return change, frame.WrongFlag("change", text, fmt.Sprintf("has the unknown setting %q", name), "use ratio, reserved, in-tree or member-of")
		}
		if failed != nil {
			return change, frame.WrongFlag("change", text, fmt.Sprintf("has an invalid value of %s", name), changeRemedy)
		}
	}
	switch {
	case change.AllocationRatio == nil && change.Reserved == nil:
		return change, frame.WrongFlag("change", text, "has neither ratio nor reserved", changeRemedy)
	case change.InTree != nil && change.MemberOf != nil:
		return change, frame.WrongFlag("change", text, "has both in-tree and member-of", "use one of them")
	}
	return change, nil
}

// showCapacityFits prints how many members fit.
func showCapacityFits(ctx context.Context, f *frame.Frame, service *client.Client, flags *capacityFitsFlags) error {
	asked, err := flags.question(ctx, service)
	if err != nil {
		return err
	}
	found, err := service.CapacityFit(ctx, asked)
	if err != nil {
		return capacityError(err)
	}
	if frame.IsDocument(*flags.format) {
		err = frame.WriteDocument(f.Stdout, *flags.format, &found)
	} else {
		text := fitsSentence(&found) + "\n"
		if found.Before == nil && found.Stopped == "all" {
			text += "\n" + frame.LayOut(fitsTable(&found, classesOf(&asked.Query), terminal.HasUnicode(frame.Environment(f.Environ))))
		}
		_, err = io.WriteString(f.Stdout, text)
	}
	if err == nil && found.Fit < int64(asked.Count) {
		return &frame.CodedError{Code: frame.ExitFailed}
	}
	return err
}
