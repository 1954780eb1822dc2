package main

import (
	"context"

	"github.com/berthd/berth/server"
)

// addAuthentication says who finds out who calls.
func (s *service) addAuthentication(_ context.Context, _ *server.Options) error {
	return nil
}
