package config

import (
	"net/http"
	"strings"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
)

// Values of --console.
const (
	ConsoleAuto = "auto"
	ConsoleOn   = "on"
	ConsoleOff  = "off"
)

// consoleSettings holds the settings of the web console.
type consoleSettings struct {
	Console        string
	ConsoleKeyFile string
	ConsoleURL     string
	// AggregateNames, Shapes and DBCheckResult are files; empty: none.
	AggregateNames, Shapes, DBCheckResult string
}

func (s *consoleSettings) table() []setting.Setting {
	return []setting.Setting{
		{Name: "console", Fallback: ConsoleAuto, Scope: ForServer, Value: setting.OneOf(&s.Console, ConsoleAuto, ConsoleOn, ConsoleOff),
			Help: "whether the server has the web console at /console: auto if it listens on loopback addresses only, on or off"},
		{Name: "console-key-file", Fallback: "", Scope: ForServer, Value: setting.Text(&s.ConsoleKeyFile),
			Help: "`file` with the key of the console's sessions, with mode 0600: 32 bytes, as they are, in base64 or in hex. " +
				"Several servers behind one address need the same key. Default: a random key, so that a restart ends all sessions"},
		{Name: "console-url", Fallback: "", Scope: ForServer, Value: origin(&s.ConsoleURL),
			Help: "`origin` of the console from the view of browsers, such as https://berth.example.org, for a proxy that changes the Host header; the console accepts its forms"},
		{Name: "aggregate-names", Fallback: "", Scope: ForServer, Value: setting.Text(&s.AggregateNames),
			Help: "YAML `file` with names of aggregates (uuid: name) for the console; reloaded on SIGHUP"},
		{Name: "shapes", Fallback: "", Scope: ForServer, Value: setting.Text(&s.Shapes),
			Help: "YAML `file` with named queries, such as m1.large, from which users of the console choose; reloaded on SIGHUP"},
		{Name: "db-check-result", Fallback: "", Scope: ForServer, Value: setting.Text(&s.DBCheckResult),
			Help: "`file` with the output of 'berth db check --output json', which the console shows"},
	}
}

// origin returns a reader of the origin of a web page, or an empty text.
func origin(field *string) setting.Reader {
	return setting.Reader{Kind: "origin", Read: func(text string) *frame.Rule {
		text = strings.TrimSuffix(text, "/")
		if text != "" {
			if err := http.NewCrossOriginProtection().AddTrustedOrigin(text); err != nil {
				return &frame.Rule{Broken: "is not an origin", Remedy: "write a scheme, a host and, if it is not the usual one, a port, such as https://berth.example.org"}
			}
		}
		*field = text
		return nil
	}}
}
