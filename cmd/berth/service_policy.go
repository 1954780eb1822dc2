package main

import (
	"context"
	"time"

	"github.com/berthd/berth/server"
)

// policyInterval is how often the policy files are looked at. A change counts when two
// looks have seen it.
const policyInterval = time.Second

// loadPolicy reads the rules. It comes before the database is touched: who mistyped a
// rule hears of it and nothing has happened.
func (s *service) loadPolicy() error {
	opened, problems, err := s.settings.openPolicy()
	for _, problem := range problems {
		s.log.Warn("policy: " + problem.String())
	}
	if err != nil {
		return err
	}
	if paths := opened.Paths(); len(paths) > 0 {
		s.log.Info("policy files read", "files", paths)
	}
	s.policy = opened
	return nil
}

// addPolicy gives the server the rules, and reads them again when the files change,
// until the context ends.
func (s *service) addPolicy(ctx context.Context, options *server.Options) error {
	options.Policy, options.BaremetalPolicy = s.policy, s.policy
	go s.policy.Watch(ctx, policyInterval, s.log)
	return nil
}
