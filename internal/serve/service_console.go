package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"strings"

	"github.com/berthd/berth/internal/config"
	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/tokens"
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

// isExposed reports whether another host can reach the server: it listens on other addresses than loopback, on a Unix
// socket, whose clients are proxies, or behind a proxy whose headers it reads.
func (s *service) isExposed() bool {
	for _, door := range s.doors {
		if tcp, ok := door.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
			return true
		}
	}
	return s.Settings.ProxyHeaders
}

// consoleAddress returns the address of the console for people; empty without a console.
func (s *service) consoleAddress() string {
	if !s.hasConsole() {
		return ""
	}
	if s.Settings.ConsoleURL != "" {
		return s.Settings.ConsoleURL + s.Settings.BasePath + console.Root
	}
	for _, door := range s.doors {
		if address := door.url(s.Settings.BasePath); !strings.HasPrefix(address, config.UnixPrefix) {
			return strings.TrimSuffix(address, "/") + console.Root
		}
	}
	return console.Root
}

// console returns the options of the console; nil without one.
func (s *service) console() (*console.Options, error) {
	if !s.hasConsole() {
		return nil, nil
	}
	settings := console.Settings{
		URL: s.Settings.ConsoleURL, CheckResult: s.Settings.DBCheckResult,
		Unprotected: s.Settings.Auth == config.AuthNoauth2 && s.isExposed(),
	}
	var err error
	switch {
	case s.Settings.ConsoleKeyFile != "":
		if settings.Key, err = readConsoleKey(s.Settings.ConsoleKeyFile); err != nil {
			return nil, err
		}
	case s.Settings.Auth != config.AuthNoauth2:
		s.log.Warn("the sessions of the console end with this process, and no other server knows them: set --console-key-file on all servers")
	}
	made := &console.Options{Settings: settings}
	if s.Settings.Auth == config.AuthKeystone {
		made.Keystone, err = s.keystoneSignIn()
	}
	return made, err
}

// consoleKeySize is the size of a key in bytes, that of AES-256.
const consoleKeySize = 32

// readConsoleKey returns the key in a file: 32 bytes as they are, in base64 or in hex.
func readConsoleKey(path string) ([]byte, error) {
	text, err := tokens.ReadSecret("key file of the console", path)
	if err != nil {
		return nil, err
	}
	if len(text) == consoleKeySize {
		return text, nil
	}
	text = bytes.TrimSpace(text)
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString,
		base64.URLEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if key, err := decode(string(text)); err == nil && len(key) == consoleKeySize {
			return key, nil
		}
	}
	return nil, fmt.Errorf("the key file of the console %s has no key of %d bytes, in base64 or in hex; make one with: openssl rand -hex %d",
		path, consoleKeySize, consoleKeySize)
}
