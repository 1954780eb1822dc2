package config

import (
	"github.com/berthd/berth/internal/setting"
)

// Values of --console.
const (
	ConsoleAuto = "auto"
	ConsoleOn   = "on"
	ConsoleOff  = "off"
)

// consoleSettings holds the settings of the web console.
type consoleSettings struct {
	Console string
}

func (s *consoleSettings) table() []setting.Setting {
	return []setting.Setting{
		{Name: "console", Fallback: ConsoleAuto, Scope: ForServer, Value: setting.OneOf(&s.Console, ConsoleAuto, ConsoleOn, ConsoleOff),
			Help: "whether the server has the web console at /console: auto if it listens on loopback addresses only, on or off"},
	}
}
