package admin

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server/identity/tokens"
)

// outputToken is the format of `berth token create` that prints the token only.
const outputToken = "token"

// createdToken is a new token in the output of `berth token create`.
type createdToken struct {
	Token string `json:"token"`
	tokenRow
}

func tokenCreateCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "create",
		Short: "Create a token and print it once",
		Long: `Create a token of 256 random bits for a user, print it, and add its hash to the tokens
file. The file never contains the token, so it cannot be printed again. The command
creates the file with mode 0600 if there is none, in an existing directory; an existing
file keeps its owner. Comments in the file are lost.

The scope is exactly one of --project, --system and --domain. The Placement API requires
a project. Roles imply others as in Keystone: admin implies manager, manager implies
member, member implies reader; only service is implied by none.

Exit codes: 0 created, 1 failed, 2 the command line or a setting is invalid.`,
		Example: `  berth token create --user ada --project lab --role admin,service
  export BERTH_TOKEN=$(berth token create --user ada --project lab --role reader --output token)
  berth token create --user operator --system --role admin --expires 2027-01-31`,
		Args: cobra.NoArgs,
	}
	var wanted tokens.Entry
	var expires string
	flags := command.Flags()
	flags.StringVar(&wanted.User, "user", "", "`ID` of the user, for policy rules and logs")
	flags.StringVar(&wanted.Project, "project", "", "`ID` of the project, for a project-scoped token")
	flags.BoolVar(&wanted.System, "system", false, "whether the token is system-scoped")
	flags.StringVar(&wanted.Domain, "domain", "", "`ID` of the domain, for a domain-scoped token")
	flags.StringSliceVar(&wanted.Roles, "role", nil, "comma-separated `names` of roles; repeatable")
	flags.StringVar(&expires, "expires", "90d", "lifetime such as 90d or 12h, `time` such as 2027-01-31 (at 00:00 UTC), or never")
	flags.StringVar(&wanted.Description, "description", "", "`text` for 'berth token list'")
	addFlagsOf(flags, isTokensSetting)
	format := frame.OutputFlag(command, frame.OutputTable, frame.OutputJSON, frame.OutputYAML, frame.OutputCSV, outputToken)
	command.RunE = func(c *cobra.Command, _ []string) error {
		return createToken(f, c, wanted, expires, *format)
	}
	return command
}

func createToken(f *frame.Frame, c *cobra.Command, wanted tokens.Entry, expires, format string) error {
	if err := checkTokenFlags(wanted); err != nil {
		return err
	}
	path, err := tokensFile(f, c)
	if err != nil {
		return err
	}
	now := time.Now()
	if wanted.Expires, err = parseExpiry(expires, now); err != nil {
		return err
	}
	wanted.Roles = setting.SplitList(strings.Join(wanted.Roles, ","))
	entry, token, err := tokens.NewEntry(wanted, now)
	if err != nil {
		return &frame.CodedError{Code: frame.ExitUsage, Cause: err}
	}
	if err := tokens.Add(c.Context(), path, entry); err != nil {
		return err
	}
	if format == outputToken {
		return f.Printf("%s", token)
	}
	row := tokenRowOf(&entry, now)
	until := row.Expires
	if until == "" {
		until = "never"
	}
	return frame.PrintAs(f.Stdout, format, createdToken{token, row}, [][]string{{"ID", "TOKEN", "EXPIRES"}, {row.ID, token, until}})
}

// checkTokenFlags returns an error that names the flags of a missing value.
func checkTokenFlags(wanted tokens.Entry) error {
	scopes := 0
	for _, has := range []bool{wanted.Project != "", wanted.Domain != "", wanted.System} {
		if has {
			scopes++
		}
	}
	switch {
	case wanted.User == "":
		return frame.WrongFlag("user", "", "is missing", "name the user of the token, such as --user ada")
	case len(wanted.Roles) == 0:
		return frame.WrongFlag("role", "", "is missing", "name at least one role, such as --role reader or --role admin,service")
	case scopes != 1:
		return frame.WrongFlag("project", wanted.Project, "is not the only scope of the token", "use exactly one of --project, --system and --domain")
	}
	return nil
}

// The limits of --expires. Times in the file have years of four digits.
const (
	maxDays = 36500
	maxYear = 9999
)

// parseExpiry returns the time of --expires: a number of days, a duration, a date, a time, or never, which
// is the zero time.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "never" {
		return time.Time{}, nil
	}
	at, ok := timeIn(text, now)
	if !ok {
		return time.Time{}, frame.WrongFlag("expires", text, "is neither a duration nor a date",
			"write 90d, 12h, 2027-01-31 (at 00:00 UTC), 2027-01-31T12:00:00Z, or never")
	}
	if at = at.UTC().Truncate(time.Second); !at.After(now) || at.Year() > maxYear {
		return time.Time{}, frame.WrongFlag("expires", text, "is not a time in the future", "write a later time, or never")
	}
	return at, nil
}

// timeIn reads a point in time, absolute or relative to now.
func timeIn(text string, now time.Time) (at time.Time, ok bool) {
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		n, err := strconv.Atoi(days)
		return now.AddDate(0, 0, min(max(n, 0), maxDays)), err == nil && n <= maxDays
	}
	if duration, err := time.ParseDuration(text); err == nil {
		return now.Add(duration), true
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
