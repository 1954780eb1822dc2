package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthd/berth/server/identity/keystone"
)

// retryPause is the first backoff of requests to Keystone; it doubles with each retry, up to four
// seconds. Three retries cover a restart of Keystone.
const retryPause = 500 * time.Millisecond

// KeystoneOptions converts the settings to options of package keystone. It reads the files that
// the settings name, and returns an error if one cannot be read.
func (s *keystoneSettings) KeystoneOptions() (keystone.Options, error) {
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
		Total:          s.KeystoneAuthenticationTimeout,
		MaxValidations: int(s.KeystoneMaxValidations), MaxQueued: int(s.KeystoneMaxQueued),
		BreakerFailures: uint32(s.KeystoneBreakerFailures), BreakerTime: s.KeystoneBreakerTimeout,
		TokenFormats: s.KeystoneTokenFormats,
		CacheTime:    s.KeystoneTokenCacheTime,
		ServiceRoles: s.KeystoneServiceTokenRoles, ServiceRolesRequired: s.KeystoneServiceTokenRolesRequired,
		ServiceType: s.KeystoneServiceType,
	}, nil
}

// credentials returns the user or application credential of Berth and the scope of its token.
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
	// A user ID is unique without a domain, and gophercloud rejects superfluous values.
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

// secretOf returns the secret of a setting, or of a file if path is not empty.
func secretOf(setting, given, path string) (string, error) {
	if path == "" {
		return given, nil
	}
	read, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w; name a file that this user may read", setting, err)
	}
	found := strings.TrimRight(string(read), "\r\n")
	if found == "" {
		return "", fmt.Errorf("%s: %s is empty; write the secret into it", setting, path)
	}
	return found, nil
}

// transport returns the HTTP transport for Keystone, with the CA and client certificates of the
// settings.
func (s *keystoneSettings) transport() (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = idleKeystone
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.KeystoneInsecure}
	var err error
	if transport.TLSClientConfig.RootCAs, err = trustedCAs("keystone-cafile", s.KeystoneCAFile); err != nil {
		return nil, err
	}
	if s.KeystoneCertFile != "" {
		own, err := tls.LoadX509KeyPair(s.KeystoneCertFile, cmp.Or(s.KeystoneKeyFile, s.KeystoneCertFile))
		if err != nil {
			return nil, fmt.Errorf("keystone-certfile: %w; name a certificate and its key in PEM", err)
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{own}
	}
	return transport, nil
}

// trustedCAs returns the CA certificates in the file of a setting; nil, which means those of the system, if
// path is empty.
func trustedCAs(setting, path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	read, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name a PEM file with certificates", setting, err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(read) {
		return nil, fmt.Errorf("%s: %s contains no certificate; name a PEM file with certificates", setting, path)
	}
	return trusted, nil
}

// idleKeystone is the maximum number of idle connections to Keystone: uncached tokens arrive in
// bursts after a service restarts. It is the default of --keystone-max-validations.
const idleKeystone = 64
