package serve

import (
	"fmt"
	"os"

	"github.com/berthd/berth/server/wire/spool"
)

// openSpool opens the spool for responses. A configured directory must be usable; the default
// directory need not be.
func (s *service) openSpool() error {
	options := s.Settings.Spool
	if options.Dir == "" {
		options.Dir = os.TempDir()
	}
	result, err := spool.New(options)
	if err != nil && s.Settings.Spool.Dir != "" {
		return fmt.Errorf("cannot use %s (%s) for spooled responses: %w; name a writable directory with --spool-dir, "+
			"or disable spool files with --spool-max-bytes 0", options.Dir, s.Settings.Row("spool-dir").Origin, err)
	}
	if err != nil {
		s.log.Warn("cannot use the directory for temporary files; spooling responses in memory only. Set --spool-dir",
			"directory", options.Dir, "error", err, "spool_memory", options.Memory)
		result, err = spool.New(spool.Options{Memory: options.Memory})
	}
	s.spool = result
	return err
}
