package browser

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/chromedp/chromedp"
)

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

// startReaper starts a shell that deletes a directory when the returned pipe is closed, also by the end of this process.
// The shell is in its own process group, so that Ctrl-C does not end it.
func startReaper(directory string) (io.Closer, error) {
	// Processes of the browser can still write files for a moment.
	const script = `read -r _; for pause in 0.1 0.3 1 3; do sleep "$pause"; rm -rf "$0"; done`
	shell := exec.Command("sh", "-c", script, directory)
	shell.Dir = filepath.Dir(directory)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := shell.StdinPipe()
	if err != nil {
		return nil, err
	}
	return input, shell.Start()
}
