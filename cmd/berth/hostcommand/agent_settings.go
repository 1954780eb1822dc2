package hostcommand

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"github.com/berthd/berth/agent/host"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
)

// agentSettings holds the settings of `berth agent` besides those of the connection.
type agentSettings struct {
	Name          string
	uuid          uuid.UUID
	config        string
	layout        string
	once          bool
	interval      time.Duration
	attempts      int64
	dryRun        bool
	survey        string
	Root          string
	consumers     []string
	metricsListen string
	logFormat     string
	logLevel      string
}

// consumersFlag is a repeatable flag, unlike a setting.
const consumersFlag = "consumers"

// table returns the settings in the order of the help.
func (a *agentSettings) table() []setting.CommandSetting {
	return []setting.CommandSetting{
		agentSetting("name", "", setting.Text(&a.Name), "`name` of the host's resource provider. Default: that of --config, else the host name"),
		agentSetting("uuid", "", optionalUUID(&a.uuid), "`UUID` of the host's resource provider. Default: derived from /etc/machine-id and the name, "+
			"constant until the host is reinstalled"),
		agentSetting("config", "", setting.Text(&a.config), "YAML `file` with the configuration of reported resources. Default: built-in configuration"),
		agentSetting("layout", "", layoutChoice(&a.layout), "`layout` of the provider tree: flat (CPUs and memory on the host) or numa (on a provider per "+
			"NUMA node). Default: that of --config, else flat"),
		agentSetting("once", "false", setting.Boolean(&a.once), "whether the agent exits after one reconciliation, as on startup"),
		agentSetting("interval", "60s", setting.Duration(&a.interval, time.Second, 24*time.Hour), "`interval` between reconciliations, with 10% jitter"),
		agentSetting("attempts", "4", setting.Integer(&a.attempts, 1, 1000), "maximum `number` of attempts of a reconciliation after generation conflicts; "+
			"increase it if a reshape competes with many claims per second"),
		agentSetting("dry-run", "false", setting.Boolean(&a.dryRun), "whether the agent only prints the tree to report and its difference from the server's tree"),
		agentSetting("hardware-file", "", setting.Text(&a.survey), "JSON `file` with recorded hardware to report instead of this host's; see 'berth agent hardware'"),
		agentSetting("root", "/", setting.Text(&a.Root), "root `directory` of the host's file system; in containers often /host"),
		agentSetting("metrics-listen", "", setting.OptionalAddress(&a.metricsListen), "listen `address` and port of /metrics. Default: none"),
		{Setting: setting.Setting{Name: "log-format", Fallback: "text", Value: setting.OneOf(&a.logFormat, "text", "json"),
			Help: "log `format`: text or json"}, Environment: []string{"BERTH_LOG_FORMAT"}},
		{Setting: setting.Setting{Name: "log-level", Fallback: "info", Value: setting.OneOf(&a.logLevel, "debug", "info", "warn", "error"),
			Help: "minimum log `level`: debug, info, warn or error"}, Environment: []string{"BERTH_LOG_LEVEL"}},
	}
}

// agentSetting returns a setting with its BERTH_AGENT_ variable.
func agentSetting(name, fallback string, value setting.Reader, help string) setting.CommandSetting {
	return setting.CommandSetting{Setting: setting.Setting{Name: name, Fallback: fallback, Value: value, Help: help}, Environment: []string{agentVariable(name)}}
}

func agentVariable(name string) string {
	return "BERTH_AGENT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Variables returns the BERTH_ variables of the agent, which are not settings of the server.
func Variables() []string {
	names := []string{agentVariable(consumersFlag)}
	for _, row := range new(agentSettings).table() {
		names = append(names, row.Environment...)
	}
	return names
}

// optionalUUID returns a reader for a UUID or an empty text.
func optionalUUID(field *uuid.UUID) setting.Reader {
	return setting.Reader{Kind: "uuid", Read: func(text string) *frame.Rule {
		parsed, err := uuid.Parse(text)
		if text != "" && (err != nil || parsed == uuid.Nil) {
			return &frame.Rule{Broken: "is not a UUID of a provider", Remedy: "write a UUID, for example 5a1f0f3e-0b0c-4e5c-9d38-3e1f2c4b6a70, or omit it"}
		}
		*field = parsed
		return nil
	}}
}

// layoutChoice returns a reader for a layout or an empty text.
func layoutChoice(field *string) setting.Reader {
	known := setting.OneOf(field, "", string(host.Flat), string(host.NUMA))
	return setting.Reader{Kind: known.Kind, Read: func(text string) *frame.Rule {
		if broken := known.Read(text); broken != nil {
			return &frame.Rule{Broken: broken.Broken, Remedy: "write flat or numa"}
		}
		return nil
	}}
}

// addAgentFlags adds the flags of `berth agent`. Their help names their variables.
func addAgentFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	for _, row := range new(agentSettings).table() {
		flag := flags.VarPF(&setting.FlagText{Text: row.Fallback, Kind: row.Value.Kind}, row.Name, "", fmt.Sprintf("%s [%s]", row.Help, strings.Join(row.Environment, ", ")))
		if row.Value.Kind == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	flags.StringArray(consumersFlag, nil, "`source` of the NUMA node of each consumer during a reshape: file:PATH, cgroup, cgroup:PATTERN "+
		"or fit (a node with free capacity, for consumers that no other source knows); repeatable, tried in order (default cgroup) ["+agentVariable(consumersFlag)+", separated by commas]")
}

// loadAgentSettings reads the flags of addAgentFlags and their variables, and returns all errors
// together.
func loadAgentSettings(flags *pflag.FlagSet, environ []string) (*agentSettings, error) {
	settings := &agentSettings{}
	variables := frame.Environment(environ)
	var wrong frame.InputErrors
	for _, row := range settings.table() {
		text, origin := row.Find(flags, variables)
		if broken := row.Value.Read(text); broken != nil {
			wrong = append(wrong, &frame.InputError{Setting: row.Name, Value: text, Origin: origin, Rule: *broken})
		}
	}
	origin := "flag --" + consumersFlag
	settings.consumers, _ = flags.GetStringArray(consumersFlag) // addAgentFlags defines it
	if !flags.Changed(consumersFlag) {
		origin = "environment " + agentVariable(consumersFlag)
		settings.consumers = setting.SplitList(variables[agentVariable(consumersFlag)])
	}
	for _, text := range settings.consumers {
		if broken := checkConsumers(text); broken != nil {
			wrong = append(wrong, &frame.InputError{Setting: consumersFlag, Value: text, Origin: origin, Rule: *broken})
		}
	}
	if len(settings.consumers) == 0 {
		settings.consumers = []string{"cgroup"}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return settings, nil
}

// loadConfig reads the driver's configuration, and sets the layout and the name of the host. Flags take precedence.
func (a *agentSettings) loadConfig() (*host.Config, error) {
	config := &host.Config{}
	if a.config != "" {
		read, err := host.LoadConfig(a.config)
		if err != nil {
			return nil, frame.InputErrors{fmt.Errorf("config: %w", err)}
		}
		config = read
	}
	a.layout = cmp.Or(a.layout, string(config.Layout), string(host.Flat))
	a.Name = cmp.Or(a.Name, config.Node)
	if a.Name == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("cannot read the host name: %w; set --name", err)
		}
		a.Name = name
	}
	return config, nil
}

// identity returns --uuid, or else a UUID derived from the machine ID and the name. It hashes the
// machine ID, as machine-id(5) requires. Hosts with different names on one machine, for example in
// tests, have different UUIDs.
func (a *agentSettings) identity() (uuid.UUID, error) {
	if a.uuid != uuid.Nil {
		return a.uuid, nil
	}
	for _, path := range []string{"etc/machine-id", "var/lib/dbus/machine-id"} {
		content, err := os.ReadFile(filepath.Join(a.Root, path))
		if err != nil {
			continue
		}
		if machine, err := uuid.Parse(strings.TrimSpace(string(content))); err == nil {
			return uuid.NewSHA1(machine, []byte("berth agent "+a.Name)), nil
		}
	}
	return uuid.Nil, frame.InputErrors{&frame.InputError{Setting: "uuid", Value: "", Origin: "default", Rule: frame.Rule{
		Broken: fmt.Sprintf("has no default, because %s contains no machine ID", filepath.Join(a.Root, "etc/machine-id")),
		Remedy: "set --uuid permanently, or run 'systemd-machine-id-setup'",
	}}}
}
