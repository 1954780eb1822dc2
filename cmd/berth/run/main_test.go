package run_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/berthd/berth/cmd/berth/command"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/storetest"
)

// asBerth is set in the environment of a test binary that is to be `berth`: signals and terminals need a process of its own.
const asBerth = "RUN_TEST_AS_BERTH"

func TestMain(m *testing.M) {
	if os.Getenv(asBerth) != "" {
		os.Unsetenv(asBerth)
		os.Exit(command.Run(context.Background(), frame.System(), os.Args[1:]))
	}
	// A process that ignores signals, such as one below nohup, starts others that ignore them.
	for _, sent := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sent) {
			signal.Notify(make(chan os.Signal, 1), sent)
		}
	}
	storetest.Main(m)
}
