package serve

import (
	"cmp"
	"context"
	"net/http"

	"github.com/berthd/berth/internal/config"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/keystone"
	"github.com/berthd/berth/server/tracing"
)

// authenticate sets the authentication method of the server. Keystone may be unreachable on
// startup: requests get 503 until it responds.
func (s *service) authenticate(ctx context.Context, options *server.Options) error {
	if s.Settings.Auth != config.AuthKeystone {
		return nil
	}
	made, err := s.Settings.KeystoneOptions()
	if err != nil {
		return err
	}
	made.Log = s.log
	if s.traces != nil {
		made.Transport = tracing.Transport(cmp.Or(made.Transport, http.DefaultTransport), s.traces.Tracer())
	}
	if made.PublicURL == "" {
		s.log.Warn("keystone-www-authenticate-uri is not set: 401 responses contain keystone-auth-url",
			"address", made.Who.IdentityEndpoint)
	}
	if s.Settings.KeystoneInsecure {
		s.log.Warn("keystone-insecure accepts any certificate of Keystone: an attacker on the network can forge valid tokens")
	}
	asking, err := keystone.New(made)
	if err != nil {
		return err
	}
	options.Authenticate = asking.Authenticate
	options.Observability.Tokens, options.Observability.Validations = asking.Stats, asking.Validations
	s.keystone = asking
	go func() {
		if err := asking.Check(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot authenticate with Keystone; requests get 503 until Keystone responds", "cause", err.Error())
		}
	}()
	return nil
}
