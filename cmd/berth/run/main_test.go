package run_test

import (
	"context"
	"os"
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
	storetest.Main(m)
}
