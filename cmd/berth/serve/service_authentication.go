package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/identity/keystone"
	"github.com/berthd/berth/server/identity/oidc"
	"github.com/berthd/berth/server/identity/tokens"
	"github.com/berthd/berth/server/observe/tracing"
)

// authenticate sets the authentication method of the server.
func (s *service) authenticate(ctx context.Context, options *server.Options) error {
	switch s.Settings.Auth {
	case config.AuthNoauth2:
		return nil // server.Options trusts callers without another method
	case config.AuthKeystone:
		return s.authenticateWithKeystone(ctx, options)
	case config.AuthTokens:
		options.Authenticate, options.Observability.Authentication = s.tokens.Authenticate, s.tokens
		go s.tokens.Watch(ctx, tokensInterval, s.log)
		return nil
	case config.AuthOIDC:
		return s.authenticateWithOIDC(ctx, options)
	default:
		return fmt.Errorf("invalid authentication method %q", s.Settings.Auth)
	}
}

// authenticateWithOIDC authenticates requests with tokens of an OpenID Connect issuer. The issuer may be
// unreachable on startup: requests get 503 until it responds.
func (s *service) authenticateWithOIDC(ctx context.Context, options *server.Options) error {
	result, err := s.Settings.OIDCOptions()
	if err != nil {
		return err
	}
	result.Log = s.log
	verifying, err := oidc.New(result)
	if err != nil {
		return err
	}
	options.Authenticate, options.Observability.Authentication = verifying.Authenticate, verifying
	go func() { _ = verifying.Check(ctx) }() // it logs a failure itself
	return nil
}

// tokensInterval is the interval between checks of the tokens file. A change takes effect after two checks
// have seen it.
const tokensInterval = time.Second

// loadTokens reads the tokens file before the server connects to the database, so that an invalid file
// prevents the startup without side effects.
func (s *service) loadTokens() (err error) {
	if s.Settings.Auth != config.AuthTokens {
		return nil
	}
	if s.tokens, err = tokens.Open(s.Settings.TokensFile); err != nil {
		return err
	}
	s.log.Info("loaded the tokens file", "file", s.Settings.TokensFile, "tokens", s.tokens.Tokens())
	return nil
}

// authenticateWithKeystone authenticates requests with Keystone. Keystone may be unreachable on startup:
// requests get 503 until it responds.
func (s *service) authenticateWithKeystone(ctx context.Context, options *server.Options) error {
	result, err := s.Settings.KeystoneOptions()
	if err != nil {
		return err
	}
	result.Log = s.log
	if s.traces != nil {
		result.Transport = tracing.Transport(cmp.Or(result.Transport, http.DefaultTransport), s.traces.Tracer())
	}
	if result.PublicURL == "" {
		s.log.Warn("keystone-www-authenticate-uri is not set: 401 responses contain keystone-auth-url",
			"address", result.Who.IdentityEndpoint)
	}
	if s.Settings.KeystoneInsecure {
		s.log.Warn("keystone-insecure accepts any certificate of Keystone: an attacker on the network can forge valid tokens")
	}
	asking, err := keystone.New(result)
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
