package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/keystone"
	"github.com/berthd/berth/server/tracing"
)

// retryPause is how long to wait before Keystone is asked once more; each further
// attempt waits twice as long, up to four seconds. With three of them that is as long
// as a restart takes.
const retryPause = 500 * time.Millisecond

// addAuthentication says who finds out who calls. Keystone may be away when the
// service starts: requests are answered 503 until it is there.
func (s *service) addAuthentication(ctx context.Context, options *server.Options) error {
	if s.settings.Auth != authKeystone {
		return nil
	}
	made, err := s.settings.keystoneOptions()
	if err != nil {
		return err
	}
	made.Log = s.log
	if s.watching.traces != nil {
		made.Transport = tracing.Transport(cmp.Or(made.Transport, http.DefaultTransport), s.watching.traces.Tracer())
	}
	if made.PublicURL == "" {
		s.log.Warn("keystone-www-authenticate-uri is not set: clients without a token are told the address where this service signs in",
			"address", made.Who.IdentityEndpoint)
	}
	if s.settings.KeystoneInsecure {
		s.log.Warn("keystone-insecure accepts any certificate of Keystone: whoever stands in between can make any token valid")
	}
	asking, err := keystone.New(made)
	if err != nil {
		return err
	}
	options.Authenticate = asking.Authenticate
	options.Watch.Tokens = asking.Stats
	go func() {
		if err := asking.Check(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("Keystone cannot be asked; requests are answered 503 until it can", "cause", err.Error())
		}
	}()
	return nil
}

// keystoneOptions are the settings as package keystone wants them, with the files
// that they name read.
func (s *keystoneSettings) keystoneOptions() (keystone.Options, error) {
	who, err := s.credentials()
	if err != nil {
		return keystone.Options{}, err
	}
	transport, err := s.transport()
	if err != nil {
		return keystone.Options{}, err
	}
	return keystone.Options{
		Who:    who,
		Region: s.KeystoneRegion, Interface: s.KeystoneInterface,
		PublicURL: s.KeystoneWWWAuthenticateURI,
		Transport: transport, Timeout: s.KeystoneConnectTimeout,
		Retries: int(s.KeystoneMaxRetries), Pause: retryPause,
		CacheTime:    s.KeystoneTokenCacheTime,
		ServiceRoles: s.KeystoneServiceTokenRoles, ServiceRolesRequired: s.KeystoneServiceTokenRolesRequired,
		ServiceType: s.KeystoneServiceType,
	}, nil
}

// credentials say who signs in, and for what.
func (s *keystoneSettings) credentials() (gophercloud.AuthOptions, error) {
	who := gophercloud.AuthOptions{IdentityEndpoint: s.KeystoneAuthURL}
	var err error
	if s.KeystoneAuthType == byApplicationCredential {
		who.ApplicationCredentialID = s.KeystoneCredentialID
		who.ApplicationCredentialSecret, err = secretOf("keystone-application-credential-secret-file",
			s.KeystoneCredentialSecret, s.KeystoneCredentialSecretFile)
		return who, err
	}
	if who.Password, err = secretOf("keystone-password-file", s.KeystonePassword, s.KeystonePasswordFile); err != nil {
		return who, err
	}
	// An id is unique by itself, and the library refuses what is not needed.
	if who.UserID = s.KeystoneUserID; who.UserID == "" {
		who.Username = s.KeystoneUsername
		if who.DomainID = s.KeystoneUserDomain.ID; who.DomainID == "" {
			who.DomainName = s.KeystoneUserDomain.Name
		}
	}
	switch {
	case s.KeystoneSystemScope != "":
		who.Scope = &gophercloud.AuthScope{System: true}
	case s.KeystoneProjectID != "":
		who.Scope = &gophercloud.AuthScope{ProjectID: s.KeystoneProjectID}
	default:
		who.Scope = &gophercloud.AuthScope{ProjectName: s.KeystoneProjectName, DomainID: s.KeystoneProjectDomain.ID}
		if who.Scope.DomainID == "" {
			who.Scope.DomainName = s.KeystoneProjectDomain.Name
		}
	}
	return who, nil
}

// secretOf is a secret that was given, or that of a file.
func secretOf(setting, given, path string) (string, error) {
	if path == "" {
		return given, nil
	}
	read, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w; name a file that this account may read", setting, err)
	}
	found := strings.TrimRight(string(read), "\r\n")
	if found == "" {
		return "", fmt.Errorf("%s: %s is empty; write the secret into it", setting, path)
	}
	return found, nil
}

// idleKeystone is how many connections are kept: tokens that are new come in bursts,
// after a service restarted.
const idleKeystone = 16

// transport reaches Keystone with the certificates of the settings.
func (s *keystoneSettings) transport() (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = idleKeystone
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.KeystoneInsecure}
	if s.KeystoneCAFile != "" {
		read, err := os.ReadFile(s.KeystoneCAFile)
		if err != nil {
			return nil, fmt.Errorf("keystone-cafile: %w; name a file with certificates in PEM", err)
		}
		trusted := x509.NewCertPool()
		if !trusted.AppendCertsFromPEM(read) {
			return nil, fmt.Errorf("keystone-cafile: %s holds no certificate; name a file with certificates in PEM", s.KeystoneCAFile)
		}
		transport.TLSClientConfig.RootCAs = trusted
	}
	if s.KeystoneCertFile != "" {
		own, err := tls.LoadX509KeyPair(s.KeystoneCertFile, cmp.Or(s.KeystoneKeyFile, s.KeystoneCertFile))
		if err != nil {
			return nil, fmt.Errorf("keystone-certfile: %w; name a certificate and its key, in PEM", err)
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{own}
	}
	return transport, nil
}
