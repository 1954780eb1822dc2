package browser

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/chromedp/chromedp"
)

// deleteOnClose is the standard input of the shell of deleteAtExit.
var deleteOnClose io.Closer

// detach puts a command into its own process group.
func detach(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// processOptions returns the command line and the environment of a browser. The rendering does not depend on the
// machine except for its system fonts, and the process connects to loopback addresses only.
func processOptions(program, directory string) []chromedp.ExecAllocatorOption {
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	options = append(options,
		chromedp.ExecPath(program), chromedp.UserDataDir(directory),
		// The caller's environment has no effect: not its time zone, proxies, home directory or desktop.
		chromedp.NoInheritEnv,
		chromedp.Env("HOME="+directory, "TMPDIR="+directory, "PATH="+os.Getenv("PATH"), "TZ=UTC", "LANG=C.UTF-8"),
		// Containers and root have no sandbox. The pages are those of the tests.
		chromedp.NoSandbox, chromedp.DisableGPU,
	)
	for name, value := range map[string]any{
		"hide-scrollbars": true, "force-device-scale-factor": "1", "font-render-hinting": "none",
		"disable-lcd-text": true, "lang": "en-US", "no-proxy-server": true,
		"host-resolver-rules":        "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost , EXCLUDE ::1",
		"disable-component-update":   true,
		"disable-domain-reliability": true,
		"no-pings":                   true,
		"disable-features": strings.Join([]string{"Translate", "BlinkGenPropertyTrees", "MediaRouter", "OptimizationHints",
			"AutofillServerCommunication", "CertificateTransparencyComponentUpdater", "InterestFeedContentSuggestions",
			"DialMediaRouteProvider", "NetworkTimeServiceQuerying"}, ","),
	} {
		options = append(options, chromedp.Flag(name, value))
	}
	return options
}
