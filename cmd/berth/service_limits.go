package main

import (
	"context"

	"github.com/berthd/berth/server"
)

// addLimits says how much the server takes on at once.
func (s *service) addLimits(_ context.Context, _ *server.Options) error {
	return nil
}
