package main

import (
	"context"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/forwarded"
)

// addLimits says how much the server takes on at once, which proxies it believes,
// and that it will tell when it is about to stop.
func (s *service) addLimits(_ context.Context, options *server.Options) error {
	options.Limits = server.Limits{
		Requests: s.settings.MaxRequests, Queue: s.settings.MaxQueue, Wait: s.settings.QueueTimeout,
		PerCaller: int(s.settings.MaxRequestsPerCaller),
	}
	if s.settings.ProxyHeaders {
		options.Proxies = &forwarded.Proxies{Trusted: s.settings.TrustedProxies}
	}
	options.Watch.Draining = s.draining
	return nil
}
