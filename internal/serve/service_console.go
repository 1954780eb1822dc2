package serve

import (
	"net"

	"github.com/berthd/berth/internal/config"
	"github.com/berthd/berth/server/console"
)

// hasConsole reports whether the server has the console: with --console=auto only if no other host can reach it.
func (s *service) hasConsole() bool {
	switch s.Settings.Console {
	case config.ConsoleOn:
		return true
	case config.ConsoleOff:
		return false
	default:
		return !s.isExposed()
	}
}

// isExposed reports whether the server listens on an address that other hosts can reach.
func (s *service) isExposed() bool {
	for _, door := range s.doors {
		if tcp, ok := door.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
			return true
		}
	}
	return false
}

// console returns the options of the console; nil without one.
func (s *service) console() *console.Options {
	if !s.hasConsole() {
		return nil
	}
	return &console.Options{Settings: console.Settings{
		Unprotected: s.Settings.Auth == config.AuthNoauth2 && s.isExposed(),
	}}
}
