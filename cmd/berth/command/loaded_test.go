package command

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
)

// loaded returns the result of config.Read for a command line and an environment.
func loaded(t *testing.T, widest setting.Scope, arguments, environ []string) (*config.Settings, []string, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.AddFlags(flags, widest)
	if err := flags.Parse(arguments); err != nil {
		t.Fatalf("parsing %q: %v", arguments, err)
	}
	return config.Read(&frame.Frame{Environ: environ, Variables: []string{"BERTH_URL", "BERTH_AGENT_NAME"}}, flags, widest)
}
