package admin

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/server/identity/tokens"
)

// Token returns `berth token`.
func Token(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke the tokens of --auth tokens",
		Long: `Create, list and revoke the tokens of 'berth serve --auth tokens'. The commands change
the tokens file only, and connect to neither a server nor a database. Servers reload the
file within three seconds. docs/authentication.md describes it.`,
		Example: `  berth token create --user ada --project lab --role admin,service
  berth token list
  berth token revoke 3f9a1c52b0de`,
	}, tokenCreateCommand(f), tokenListCommand(f), tokenRevokeCommand(f))
}

// tokensFileFlag is the setting of the commands.
const tokensFileFlag = "tokens-file"

func isTokensSetting(name string) bool { return name == tokensFileFlag }

// tokensFile returns the tokens file of a command.
func tokensFile(f *frame.Frame, c *cobra.Command) (string, error) {
	settings, err := settingsOf(f, c, isTokensSetting)
	if err != nil {
		return "", err
	}
	return settings.TokensFile, nil
}

// tokenRow is a token in the output of the commands. The member names are stable, because scripts read
// them.
type tokenRow struct {
	ID          string   `json:"id"`
	User        string   `json:"user"`
	Project     string   `json:"project,omitempty"`
	Domain      string   `json:"domain,omitempty"`
	System      bool     `json:"system"`
	Roles       []string `json:"roles"`
	Created     string   `json:"created,omitempty"`
	Expires     string   `json:"expires,omitempty"`
	Expired     bool     `json:"expired"`
	Description string   `json:"description,omitempty"`
}

func tokenRowOf(entry *tokens.Entry, now time.Time) tokenRow {
	return tokenRow{
		ID: entry.ID, User: entry.User, Project: entry.Project, Domain: entry.Domain, System: entry.System, Roles: entry.Roles,
		Created: timeOf(entry.Created), Expires: timeOf(entry.Expires), Expired: entry.IsExpired(now), Description: entry.Description,
	}
}

// timeOf returns a time in UTC; empty for the zero time.
func timeOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// scope returns the scope of a token for the table.
func (r *tokenRow) scope() string {
	switch {
	case r.System:
		return "system"
	case r.Domain != "":
		return "domain " + r.Domain
	default:
		return "project " + r.Project
	}
}

func tokenListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List the tokens with their users, scopes and roles",
		Long: `List the tokens in the tokens file, in its order. The file has only hashes, so the
command prints no token. It changes nothing.

Exit codes: 0 printed, 1 the file cannot be read, 2 the command line or a setting is
invalid.`,
		Example: `  berth token list
  berth token list --output json | jq -r '.tokens[] | select(.expired) | .id'`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	addFlagsOf(command.Flags(), isTokensSetting)
	command.RunE = func(c *cobra.Command, _ []string) error {
		path, err := tokensFile(f, c)
		if err != nil {
			return err
		}
		entries, err := tokens.List(path)
		if err != nil {
			return err
		}
		rows := []tokenRow{}
		table := [][]string{{"ID", "USER", "SCOPE", "ROLES", "CREATED", "EXPIRES", "DESCRIPTION"}}
		for i := range entries {
			row := tokenRowOf(&entries[i], time.Now())
			rows = append(rows, row)
			expires := row.Expires
			if row.Expired {
				expires += " (expired)"
			} else if expires == "" {
				expires = "never"
			}
			table = append(table, []string{row.ID, row.User, row.scope(), strings.Join(row.Roles, ","),
				frame.OrDash(row.Created), expires, frame.OrDash(row.Description)})
		}
		return frame.PrintAs(f.Stdout, *format, map[string]any{"tokens": rows}, table)
	}
	return command
}

func tokenRevokeCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "revoke ID...",
		Short: "Revoke tokens",
		Long: `Remove tokens from the tokens file. Requests with them get 401 as soon as the servers
have reloaded the file, within three seconds. If one of the ids is not in the file, the
command changes nothing.

Exit codes: 0 revoked, 1 failed, 2 the command line or a setting is invalid.`,
		Example: `  berth token revoke 3f9a1c52b0de
  berth token revoke 3f9a1c52b0de 77c0d1e2f3a4 --tokens-file ./tokens.yaml`,
		Args: cobra.MinimumNArgs(1),
	}
	addFlagsOf(command.Flags(), isTokensSetting)
	command.RunE = func(c *cobra.Command, ids []string) error {
		path, err := tokensFile(f, c)
		if err != nil {
			return err
		}
		if err := tokens.Revoke(c.Context(), path, ids); err != nil {
			return err
		}
		return f.Printf("revoked %s", strings.Join(ids, ", "))
	}
	return command
}
