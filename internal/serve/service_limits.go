package serve

import (
	"context"
	"fmt"
	"os"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/forwarded"
	"github.com/berthd/berth/server/spool"
)

// addLimits sets the request limits, the trusted proxies and the drain signal of the server.
func (s *service) addLimits(_ context.Context, options *server.Options) error {
	options.Limits = server.Limits{
		Requests: s.Settings.MaxRequests, Queue: s.Settings.MaxQueue, Wait: s.Settings.QueueTimeout,
		PerCaller: int(s.Settings.MaxRequestsPerCaller), WriteStall: s.Settings.WriteStallTimeout, Write: answerLimitOf(s.Settings),
		BodyRate: s.Settings.MinBodyRate,
	}
	options.Spool = s.spool
	if s.Settings.ProxyHeaders {
		options.Proxies = &forwarded.Proxies{Trusted: s.Settings.TrustedProxies}
	}
	options.Observability.Draining = s.draining
	return nil
}

// openSpool opens the spool for responses. A configured directory must be usable; the default
// directory need not be.
func (s *service) openSpool() error {
	options := spool.Options{Memory: s.Settings.SpoolMemory, Dir: s.Settings.SpoolDir, FileBytes: s.Settings.SpoolMaxBytes}
	if options.Dir == "" {
		options.Dir = os.TempDir()
	}
	made, err := spool.New(options)
	if err != nil && s.Settings.SpoolDir != "" {
		return fmt.Errorf("cannot use %s (%s) for spooled responses: %w; name a writable directory with --spool-dir, "+
			"or disable spool files with --spool-max-bytes 0", options.Dir, s.Settings.Row("spool-dir").Origin, err)
	}
	if err != nil {
		s.log.Warn("cannot use the directory for temporary files; spooling responses in memory only. Set --spool-dir",
			"directory", options.Dir, "error", err, "spool_memory", options.Memory)
		made, err = spool.New(spool.Options{Memory: options.Memory})
	}
	s.spool = made
	return err
}
