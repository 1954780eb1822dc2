package main

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
)

// agentSettings are what `berth agent` takes beside the settings of a connection.
type agentSettings struct {
	name          string
	uuid          uuid.UUID
	config        string
	layout        string
	once          bool
	interval      time.Duration
	attempts      int64
	dryRun        bool
	survey        string
	root          string
	consumers     []string
	metricsListen string
	logFormat     string
	logLevel      string
}

// consumersFlag can be repeated, which the text of a setting cannot.
const consumersFlag = "consumers"

// table lists the settings in the order of the help.
func (a *agentSettings) table() []connectSetting {
	return []connectSetting{
		agentSetting("name", "", text(&a.name), "`name` of this host's provider; empty means the one in --config, else the hostname"),
		agentSetting("uuid", "", optionalUUID(&a.uuid), "`uuid` of this host's provider; empty means one made of /etc/machine-id and the name, "+
			"which stays the same until the machine is installed anew"),
		agentSetting("config", "", text(&a.config), "YAML `file` that says what of this machine is offered, and how; empty means the defaults"),
		agentSetting("layout", "", layoutChoice(&a.layout), "`where` CPUs and memory stand in the tree: flat (all on the host) or numa (on a provider for each "+
			"NUMA node); empty means the one in --config, else flat"),
		agentSetting("once", "false", boolean(&a.once), "make one pass, as at a start, and end; the exit code tells how it went"),
		agentSetting("interval", "60s", duration(&a.interval, time.Second, 24*time.Hour), "`time` between two passes, a tenth more or less"),
		agentSetting("attempts", "4", integer(&a.attempts, 1, 1000), "`number` of times that a pass is begun anew when somebody else wrote first; "+
			"more where a reshape has to get through between claims that come many times a second"),
		agentSetting("dry-run", "false", boolean(&a.dryRun), "print the tree that would be reported, and what differs from the service's; write nothing"),
		agentSetting("survey", "", text(&a.survey), "`file` with a recorded machine to report instead of this one; 'berth agent survey --output json' writes such files"),
		agentSetting("root", "/", text(&a.root), "`directory` where the machine's file system is; in a container often /host"),
		agentSetting("metrics-listen", "", optionalAddress(&a.metricsListen), "`address` and port for Prometheus, at /metrics; empty means none"),
		{setting{name: "log-format", fallback: "text", value: oneOf(&a.logFormat, "text", "json"),
			help: "`format` of the log on standard error: text or json"}, []string{"BERTH_LOG_FORMAT"}},
		{setting{name: "log-level", fallback: "info", value: oneOf(&a.logLevel, "debug", "info", "warn", "error"),
			help: "least `level` that is logged: debug, info, warn or error"}, []string{"BERTH_LOG_LEVEL"}},
	}
}

func agentSetting(name, fallback string, value reader, help string) connectSetting {
	return connectSetting{setting{name: name, fallback: fallback, value: value, help: help}, []string{agentVariable(name)}}
}

func agentVariable(name string) string {
	return "BERTH_AGENT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// agentVariables are the BERTH_ variables that the agent reads, which are no
// settings of the service.
func agentVariables() []string {
	names := []string{agentVariable(consumersFlag)}
	for _, row := range new(agentSettings).table() {
		names = append(names, row.environment...)
	}
	return names
}

func optionalUUID(field *uuid.UUID) reader {
	return reader{kind: "uuid", read: func(text string) *rule {
		parsed, err := uuid.Parse(text)
		if text != "" && (err != nil || parsed == uuid.Nil) {
			return &rule{"is not the uuid of a provider", "write one such as 5a1f0f3e-0b0c-4e5c-9d38-3e1f2c4b6a70, or leave it out"}
		}
		*field = parsed
		return nil
	}}
}

func optionalAddress(field *string) reader {
	given := address(field)
	return reader{kind: given.kind, read: func(text string) *rule {
		if text == "" {
			return nil
		}
		return given.read(text)
	}}
}

func layoutChoice(field *string) reader {
	known := oneOf(field, "", string(host.Flat), string(host.NUMA))
	return reader{kind: known.kind, read: func(text string) *rule {
		if broken := known.read(text); broken != nil {
			return &rule{broken.broken, "write flat or numa"}
		}
		return nil
	}}
}

func addAgentFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	for _, row := range new(agentSettings).table() {
		flag := flags.VarPF(&flagText{row.fallback, row.value.kind}, row.name, "", fmt.Sprintf("%s [%s]", row.help, strings.Join(row.environment, ", ")))
		if row.value.kind == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	flags.StringArray(consumersFlag, nil, "`who` knows which NUMA node a consumer uses, when a reshape has to: file:PATH, cgroup, cgroup:PATTERN "+
		"or fit (where there is room, for those whom nobody else knows); repeat it to ask several in turn (default cgroup) ["+agentVariable(consumersFlag)+", separated by commas]")
}

// loadAgentSettings reads the flags of addAgentFlags and their variables, and
// reports all mistakes in one go.
func loadAgentSettings(flags *pflag.FlagSet, environ []string) (*agentSettings, error) {
	settings := &agentSettings{}
	variables := environment(environ)
	var wrong mistakes
	for _, row := range settings.table() {
		text, origin := row.find(flags, variables)
		if broken := row.value.read(text); broken != nil {
			wrong = append(wrong, &mistake{row.name, text, origin, *broken})
		}
	}
	origin := "flag --" + consumersFlag
	settings.consumers, _ = flags.GetStringArray(consumersFlag) // the flag is ours
	if !flags.Changed(consumersFlag) {
		origin = "environment " + agentVariable(consumersFlag)
		settings.consumers = splitList(variables[agentVariable(consumersFlag)])
	}
	for _, text := range settings.consumers {
		if broken := checkConsumers(text); broken != nil {
			wrong = append(wrong, &mistake{consumersFlag, text, origin, *broken})
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

// loadConfig reads the driver's configuration; what the command line says wins.
func (a *agentSettings) loadConfig() (*host.Config, error) {
	config := &host.Config{}
	if a.config != "" {
		read, err := host.LoadConfig(a.config)
		if err != nil {
			return nil, mistakes{fmt.Errorf("config: %w", err)}
		}
		config = read
	}
	a.layout = cmp.Or(a.layout, string(config.Layout), string(host.Flat))
	a.name = cmp.Or(a.name, config.Node)
	if a.name == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("this machine does not tell its name: %w; give one with --name", err)
		}
		a.name = name
	}
	return config, nil
}

// identity is the uuid that was given, or one that follows from the machine's own
// and the name. The machine's is not shown to anybody: it is hashed, as its
// documentation demands. A host of another name on the same machine, such as in
// a test, is somebody else.
func (a *agentSettings) identity() (uuid.UUID, error) {
	if a.uuid != uuid.Nil {
		return a.uuid, nil
	}
	for _, place := range []string{"etc/machine-id", "var/lib/dbus/machine-id"} {
		content, err := os.ReadFile(filepath.Join(a.root, place))
		if err != nil {
			continue
		}
		if machine, err := uuid.Parse(strings.TrimSpace(string(content))); err == nil {
			return uuid.NewSHA1(machine, []byte("berth agent "+a.name)), nil
		}
	}
	return uuid.Nil, mistakes{&mistake{"uuid", "", "default", rule{
		fmt.Sprintf("is to be made of a machine's id, and %s holds none", filepath.Join(a.root, "etc/machine-id")),
		"give one with --uuid and keep it, or run 'systemd-machine-id-setup'",
	}}}
}
