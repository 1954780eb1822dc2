package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthd/berth/client"
)

// endpoint is how a command reaches a service and who it says it is.
type endpoint struct {
	// url is empty where nobody named one: under keystone the catalog then says
	// where the service is, else it is defaultURL.
	url        string
	auth       string
	token      string
	cloud      string
	region     string
	interfaces string // which of a catalog's URLs: public, internal or admin
	insecure   bool
	caCert     string
	timeout    time.Duration
	debug      bool

	// service is the type of the service in keystone's catalog; empty: placement.
	service string
	// readOnly lets nothing pass that would write; no setting says so.
	readOnly bool

	// variables is the whole environment, for what keystone needs from it.
	variables map[string]string
}

// defaultURL is where `berth serve` listens unless told otherwise.
const defaultURL = "http://127.0.0.1:8778"

// connectSetting is a setting whose environment variables do not all follow from
// its name, since those of the OpenStack clients are read as well.
type connectSetting struct {
	setting
	environment []string
}

// table lists the settings of a connection, in the order of the help.
func (e *endpoint) table() []connectSetting {
	return []connectSetting{
		{setting{name: "url", value: serviceURL(&e.url),
			help: "`URL` of the service; empty means the one in keystone's catalog, else " + defaultURL}, []string{"BERTH_URL"}},
		{setting{name: "auth", value: authChoice(&e.auth),
			help: "`how` to say who asks: noauth, token or keystone; empty means token where one is given, " +
				"else keystone where OS_AUTH_URL or OS_CLOUD is set, else noauth"}, []string{"BERTH_CLIENT_AUTH"}},
		{setting{name: "token", value: text(&e.token),
			help: "`token` to send; better given in the environment, since everybody on this machine can read a command line"}, []string{"BERTH_TOKEN"}},
		{setting{name: "cloud", value: text(&e.cloud), help: "`name` in clouds.yaml, for keystone"}, []string{"OS_CLOUD"}},
		{setting{name: "region", value: text(&e.region), help: "`region` in keystone's catalog"}, []string{"OS_REGION_NAME"}},
		{setting{name: "interface", value: catalogInterface(&e.interfaces),
			help: "`which` URL of keystone's catalog: public, internal or admin; empty means public"}, []string{"OS_INTERFACE", "OS_ENDPOINT_TYPE"}},
		{setting{name: "insecure", fallback: "false", value: boolean(&e.insecure),
			help: "accept any certificate, whoever it is from"}, []string{"BERTH_INSECURE", "OS_INSECURE"}},
		{setting{name: "ca-cert", value: text(&e.caCert),
			help: "`file` with the certificates to trust instead of the system's"}, []string{"BERTH_CA_CERT", "OS_CACERT"}},
		{setting{name: "timeout", fallback: "60s", value: duration(&e.timeout, 0, 24*time.Hour),
			help: "longest `time` that one request may take, with its repetitions; 0 means no limit"}, []string{"BERTH_TIMEOUT"}},
		{setting{name: "debug-http", fallback: "false", value: boolean(&e.debug),
			help: "print a line on standard error for each request; tokens are not shown"}, []string{"BERTH_DEBUG_HTTP"}},
	}
}

// serviceURL takes a URL without query; a path is where the API is mounted.
func serviceURL(field *string) reader {
	return reader{kind: "URL", read: func(text string) *rule {
		parsed, err := url.Parse(text)
		wellFormed := err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != ""
		if text != "" && (!wellFormed || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.User != nil) {
			return &rule{"is not the URL of a service", "write scheme, host and path, such as " + defaultURL + " or https://cloud.example.org/placement"}
		}
		*field = strings.TrimSuffix(text, "/")
		return nil
	}}
}

func authChoice(field *string) reader {
	known := oneOf(field, "", "noauth", "token", "keystone")
	return reader{kind: known.kind, read: func(text string) *rule {
		if broken := known.read(text); broken != nil {
			return &rule{broken.broken, "write noauth, token or keystone"}
		}
		return nil
	}}
}

// catalogInterface also takes the older spellings, such as publicURL.
func catalogInterface(field *string) reader {
	return reader{kind: "text", read: func(text string) *rule {
		plain := strings.TrimSuffix(text, "URL")
		if !slices.Contains([]string{"", "public", "internal", "admin"}, plain) {
			return &rule{"is not one of the choices", "write public, internal or admin"}
		}
		*field = plain
		return nil
	}}
}

// connectFlags gives a command, and those below it, the flags that say which
// service to ask, and as whom.
func (p *process) connectFlags(c *cobra.Command) {
	flags := c.PersistentFlags()
	flags.SortFlags = false
	for _, row := range new(endpoint).table() {
		help := fmt.Sprintf("%s [%s]", row.help, strings.Join(row.environment, ", "))
		flag := flags.VarPF(&flagText{row.fallback, row.value.kind}, row.name, "", help)
		if row.value.kind == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	completeConnectFlags(c)
}

// loadEndpoint reads the flags of connectFlags and their variables: a flag wins
// over the environment, which wins over the default.
func loadEndpoint(flags *pflag.FlagSet, environ []string) (*endpoint, error) {
	found := &endpoint{variables: environment(environ)}
	var wrong mistakes
	for _, row := range found.table() {
		text, origin := row.find(flags, found.variables)
		if broken := row.value.read(text); broken != nil {
			wrong = append(wrong, &mistake{row.name, text, origin, *broken})
		}
	}
	if found.auth == "" {
		found.auth = found.usualAuth()
	}
	if found.auth == "token" && found.token == "" && len(wrong) == 0 {
		wrong = append(wrong, &mistake{"token", "", "default", rule{"is no token", "set BERTH_TOKEN, or choose another --auth"}})
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return found, nil
}

func (s connectSetting) find(flags *pflag.FlagSet, variables map[string]string) (text, origin string) {
	if flag := flags.Lookup(s.name); flag != nil && flag.Changed {
		return flag.Value.String(), "flag --" + s.name
	}
	for _, name := range s.environment {
		if text := variables[name]; text != "" {
			return text, "environment " + name
		}
	}
	return s.fallback, "default"
}

// usualAuth is the one that what was given points to. A token for berth alone is
// a clearer wish than variables that every OpenStack client reads.
func (e *endpoint) usualAuth() string {
	switch {
	case e.token != "":
		return "token"
	case e.cloud != "" || e.variables["OS_AUTH_URL"] != "":
		return "keystone"
	default:
		return "noauth"
	}
}

// connectVariables are the BERTH_ variables that connections read, which are no
// settings of the service.
func connectVariables() []string {
	var names []string
	for _, row := range new(endpoint).table() {
		for _, name := range row.environment {
			if strings.HasPrefix(name, "BERTH_") {
				names = append(names, name)
			}
		}
	}
	return names
}

// serviceTypeKey annotates a command whose members ask another API than Placement
// with its type in keystone's catalog.
const serviceTypeKey = "service type"

// serviceType is what a command, or the nearest one above it, says.
func serviceType(c *cobra.Command) string {
	for ; c != nil; c = c.Parent() {
		if named := c.Annotations[serviceTypeKey]; named != "" {
			return named
		}
	}
	return ""
}

// connect makes a client of the service that the flags of connectFlags and the
// environment name. No request is sent yet. Options come after those of the flags.
func (p *process) connect(c *cobra.Command, options ...client.Option) (*client.Client, error) {
	return p.connectAs(c, false, options...)
}

// connectAs is connect; readOnly makes sure that whoever uses the client writes
// nothing, whatever is wrong with them.
func (p *process) connectAs(c *cobra.Command, readOnly bool, options ...client.Option) (*client.Client, error) {
	found, err := loadEndpoint(c.Flags(), p.environ)
	if err != nil {
		return nil, err
	}
	found.service, found.readOnly = serviceType(c), readOnly
	if flag := c.Flags().Lookup("token"); flag != nil && flag.Changed {
		fmt.Fprintln(p.stderr, "berth: warning: everybody on this machine can read a token on a command line; set BERTH_TOKEN instead")
	}
	log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return found.client(p, append([]client.Option{client.WithLogger(log)}, options...)...)
}

// client turns the settings into options of the client library.
func (e *endpoint) client(p *process, options ...client.Option) (*client.Client, error) {
	transport, err := e.transport()
	if err != nil {
		return nil, err
	}
	address := e.url
	if address == "" && e.auth != "keystone" {
		address = defaultURL
	}
	var who client.Option
	switch e.auth {
	case "keystone":
		login, err := e.keystone(transport)
		if err != nil {
			return nil, err
		}
		who = login
	case "token":
		who = client.WithToken(e.token)
	default:
		who = client.WithNoAuth("admin", "")
	}
	built := []client.Option{who, client.WithHTTPClient(e.httpClient(p, transport)), client.WithUserAgent("berth/" + thisBuild().Version)}
	return client.New(address, append(built, options...)...)
}
