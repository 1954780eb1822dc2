package serve

import (
	"time"
)

// policyInterval is the interval between checks of the policy files. A change takes effect after
// two checks have seen it.
const policyInterval = time.Second

// loadPolicy reads the rules before the server connects to the database, so that an invalid rule
// prevents the startup without side effects.
func (s *service) loadPolicy() error {
	opened, problems, err := s.Settings.OpenPolicy()
	for _, problem := range problems {
		s.log.Warn("policy: " + problem.String())
	}
	if err != nil {
		return err
	}
	if paths := opened.Paths(); len(paths) > 0 {
		s.log.Info("loaded policy files", "files", paths)
	}
	s.policy = opened
	return nil
}
