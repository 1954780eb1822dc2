package serve

import (
	"context"
	"time"

	"github.com/berthd/berth/server"
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

// addPolicy sets the rules of the server, and reloads them when the files change, until the
// context ends.
func (s *service) addPolicy(ctx context.Context, options *server.Options) error {
	options.Policy, options.BaremetalPolicy = s.policy, s.policy
	go s.policy.Watch(ctx, policyInterval, s.log)
	return nil
}
