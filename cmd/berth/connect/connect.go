// Package connect connects a command to a server: it reads the flags and variables for the URL
// and the credentials, and creates the client.
//
// It is not for the requests (packages apicommand and hostcommand).
package connect

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
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/cmd/berth/version"
)

// endpoint holds the connection settings of a command: URL, credentials and TLS.
type endpoint struct {
	// url is empty if it is not set: with keystone the URL then comes from the catalog, otherwise
	// it is defaultURL.
	url        string
	Auth       string
	token      string
	cloud      string
	region     string
	interfaces string // which of a catalog's URLs: public, internal or admin
	insecure   bool
	caCert     string
	timeout    time.Duration
	debug      bool
	verbose    bool

	// service is the service type in Keystone's catalog; empty means placement.
	service string
	// readOnly blocks all writes; it has no setting.
	readOnly bool

	// variables is the whole environment, for authentication with Keystone.
	variables map[string]string
}

// defaultURL is the default listen address of `berth serve`.
const defaultURL = "http://127.0.0.1:8778"

// table returns the settings of a connection, in the order of the help.
func (e *endpoint) table() []setting.CommandSetting {
	return []setting.CommandSetting{
		{Setting: setting.Setting{Name: "url", Value: serviceURL(&e.url),
			Help: "`URL` of the server. Default: that of Keystone's catalog with --auth keystone, else " + defaultURL}, Environment: []string{"BERTH_URL"}},
		{Setting: setting.Setting{Name: "auth", Value: authChoice(&e.Auth),
			Help: "authentication `method`: noauth, token or keystone. Default: token if one is set, " +
				"else keystone if OS_AUTH_URL or OS_CLOUD is set, else noauth"}, Environment: []string{"BERTH_CLIENT_AUTH"}},
		{Setting: setting.Setting{Name: "token", Value: setting.Text(&e.token),
			Help: "authentication `token`; prefer the environment variable, because all users of this host can read command lines"}, Environment: []string{"BERTH_TOKEN"}},
		{Setting: setting.Setting{Name: "cloud", Value: setting.Text(&e.cloud), Help: "`name` of the cloud in clouds.yaml, for keystone"}, Environment: []string{"OS_CLOUD"}},
		{Setting: setting.Setting{Name: "region", Value: setting.Text(&e.region), Help: "`region` of the endpoint in Keystone's catalog"}, Environment: []string{"OS_REGION_NAME"}},
		{Setting: setting.Setting{Name: "interface", Value: catalogInterface(&e.interfaces),
			Help: "`interface` of the endpoint in Keystone's catalog: public, internal or admin. Default: public"}, Environment: []string{"OS_INTERFACE", "OS_ENDPOINT_TYPE"}},
		{Setting: setting.Setting{Name: "insecure", Fallback: "false", Value: setting.Boolean(&e.insecure),
			Help: "whether certificates of servers are not verified"}, Environment: []string{"BERTH_INSECURE", "OS_INSECURE"}},
		{Setting: setting.Setting{Name: "ca-cert", Value: setting.Text(&e.caCert),
			Help: "PEM `file` of trusted CA certificates. Default: system CAs"}, Environment: []string{"BERTH_CA_CERT", "OS_CACERT"}},
		{Setting: setting.Setting{Name: "timeout", Fallback: "60s", Value: setting.Duration(&e.timeout, 0, 24*time.Hour),
			Help: "maximum `time` of a request, including retries; 0 means no limit"}, Environment: []string{"BERTH_TIMEOUT"}},
		{Setting: setting.Setting{Name: "debug-http", Fallback: "false", Value: setting.Boolean(&e.debug),
			Help: "whether each request is printed on standard error, without tokens"}, Environment: []string{"BERTH_DEBUG_HTTP"}},
		{Setting: setting.Setting{Name: "verbose", Fallback: "false", Value: setting.Boolean(&e.verbose),
			Help: "whether retried requests are printed on standard error; 'berth agent' always logs them"}, Environment: []string{"BERTH_VERBOSE"}},
	}
}

// serviceURL returns a reader of a URL without query; its path is the prefix of the API.
func serviceURL(field *string) setting.Reader {
	return setting.Reader{Kind: "URL", Read: func(text string) *frame.Rule {
		parsed, err := url.Parse(text)
		wellFormed := err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != ""
		if text != "" && (!wellFormed || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.User != nil) {
			return &frame.Rule{Broken: "is not an http or https URL", Remedy: "write scheme, host and path, such as " + defaultURL + " or https://cloud.example.org/placement"}
		}
		*field = strings.TrimSuffix(text, "/")
		return nil
	}}
}

func authChoice(field *string) setting.Reader {
	known := setting.OneOf(field, "", "noauth", "token", "keystone")
	return setting.Reader{Kind: known.Kind, Read: func(text string) *frame.Rule {
		if broken := known.Read(text); broken != nil {
			return &frame.Rule{Broken: broken.Broken, Remedy: "write noauth, token or keystone"}
		}
		return nil
	}}
}

// catalogInterface returns a reader of an interface; it also accepts the older spellings, such as
// publicURL.
func catalogInterface(field *string) setting.Reader {
	return setting.Reader{Kind: "text", Read: func(text string) *frame.Rule {
		plain := strings.TrimSuffix(text, "URL")
		if !slices.Contains([]string{"", "public", "internal", "admin"}, plain) {
			return &frame.Rule{Broken: "is not one of the choices", Remedy: "write public, internal or admin"}
		}
		*field = plain
		return nil
	}}
}

// Flags adds the connection flags to a command and its subcommands.
func Flags(f *frame.Frame, c *cobra.Command) {
	flags := c.PersistentFlags()
	flags.SortFlags = false
	for _, row := range new(endpoint).table() {
		help := fmt.Sprintf("%s [%s]", row.Help, strings.Join(row.Environment, ", "))
		flag := flags.VarPF(&setting.FlagText{Text: row.Fallback, Kind: row.Value.Kind}, row.Name, "", help)
		if row.Value.Kind == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	completeConnectFlags(c)
}

// load reads the flags of Flags and their variables: a flag takes precedence over the
// environment, and that over the default.
func load(flags *pflag.FlagSet, environ []string) (*endpoint, error) {
	found := &endpoint{variables: frame.Environment(environ)}
	var wrong frame.InputErrors
	for _, row := range found.table() {
		text, origin := row.Find(flags, found.variables)
		if broken := row.Value.Read(text); broken != nil {
			wrong = append(wrong, &frame.InputError{Setting: row.Name, Value: text, Origin: origin, Rule: *broken})
		}
	}
	if found.Auth == "" {
		found.Auth = found.defaultAuth()
	}
	if found.Auth == "token" && found.token == "" && len(wrong) == 0 {
		wrong = append(wrong, &frame.InputError{Setting: "token", Value: "", Origin: "default", Rule: frame.Rule{Broken: "is not set", Remedy: "set BERTH_TOKEN, or choose another --auth"}})
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return found, nil
}

// defaultAuth returns the method that the settings imply. BERTH_TOKEN takes precedence over the
// variables that every OpenStack client reads.
func (e *endpoint) defaultAuth() string {
	switch {
	case e.token != "":
		return "token"
	case e.cloud != "" || e.variables["OS_AUTH_URL"] != "":
		return "keystone"
	default:
		return "noauth"
	}
}

// Variables returns the BERTH_ variables of connections, which are not settings of the server.
func Variables() []string {
	var names []string
	for _, row := range new(endpoint).table() {
		for _, name := range row.Environment {
			if strings.HasPrefix(name, "BERTH_") {
				names = append(names, name)
			}
		}
	}
	return names
}

// ServiceTypeKey is the annotation of a command whose subcommands use another API than Placement.
// Its value is the service type in Keystone's catalog.
const ServiceTypeKey = "service type"

// ServiceType returns the service type of a command, or of its nearest parent that has one.
func ServiceType(c *cobra.Command) string {
	for ; c != nil; c = c.Parent() {
		if named := c.Annotations[ServiceTypeKey]; named != "" {
			return named
		}
	}
	return ""
}

// Client returns a client of the server that the flags of Flags and the environment name. It
// sends no request. Options follow those of the flags.
func Client(f *frame.Frame, c *cobra.Command, options ...client.Option) (*client.Client, error) {
	return ClientAs(f, c, false, options...)
}

// ClientAs is Client with settings of the caller; if readOnly is true, the client returns an
// error for every write.
func ClientAs(f *frame.Frame, c *cobra.Command, readOnly bool, options ...client.Option) (*client.Client, error) {
	found, err := load(c.Flags(), f.Environ)
	if err != nil {
		return nil, err
	}
	found.service, found.readOnly = ServiceType(c), readOnly
	if flag := c.Flags().Lookup("token"); flag != nil && flag.Changed {
		fmt.Fprintln(f.Stderr, "berth: warning: all users of this host can read a token on the command line; set BERTH_TOKEN instead")
	}
	return found.client(f, append([]client.Option{client.WithLogger(found.logger(f))}, options...)...)
}

// ServiceClient returns a client of another OpenStack service with the same credentials: the service of a type in Keystone's
// catalog, or the one at a URL. Without Keystone it needs the URL, which is the value of a flag.
func ServiceClient(f *frame.Frame, c *cobra.Command, serviceType, flag, url string) (*client.Client, error) {
	found, err := load(c.Flags(), f.Environ)
	if err != nil {
		return nil, err
	}
	if broken := serviceURL(&found.url).Read(url); broken != nil {
		return nil, frame.WrongFlag(flag, url, broken.Broken, broken.Remedy)
	}
	if found.url == "" && found.Auth != "keystone" {
		return nil, frame.WrongFlag(flag, url, "is required without --auth keystone, whose catalog has the URL", "write the URL of the API")
	}
	found.service = serviceType
	return found.client(f, client.WithLogger(found.logger(f)))
}

// logger returns the log of the client on standard error.
func (e *endpoint) logger(f *frame.Frame) *slog.Logger {
	var handler slog.Handler = slog.NewTextHandler(f.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})
	if !e.verbose {
		handler = retryFilter{handler}
	}
	return slog.New(handler)
}

// client creates the client from the settings.
func (e *endpoint) client(f *frame.Frame, options ...client.Option) (*client.Client, error) {
	transport, err := e.transport()
	if err != nil {
		return nil, err
	}
	address := e.url
	if address == "" && e.Auth != "keystone" {
		address = defaultURL
	}
	var who client.Option
	switch e.Auth {
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
	built := []client.Option{who, client.WithHTTPClient(e.httpClient(f, transport)), client.WithUserAgent("berth/" + version.This().Version)}
	return client.New(address, append(built, options...)...)
}

// completeConnectFlags completes the values of flags with few choices.
func completeConnectFlags(c *cobra.Command) {
	frame.CompleteChoices(c, "auth", "noauth", "token", "keystone")
	frame.CompleteChoices(c, "interface", "public", "internal", "admin")
}
