// Package console is the web console, a client of the API inside the server.
package console

import "embed"

// assets has the style sheet, scripts, fonts and licenses. Its README.md names the origin of the files of other projects.
//
//go:embed assets
var assets embed.FS
