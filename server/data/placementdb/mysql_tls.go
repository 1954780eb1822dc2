package placementdb

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/go-sql-driver/mysql"
)

// mysqlTLS configures the driver's TLS from the options of PyMySQL (ssl_ca, ssl_cert, ssl_key,
// ssl_verify_identity), and returns the name of the configuration in the driver; empty if the address has
// no such option. As in PyMySQL, ssl_ca enables the verification of the certificate, and only
// ssl_verify_identity that of the host name.
func mysqlTLS(host string, options url.Values) (name string, err error) {
	authority, cert := options.Get("ssl_ca"), options.Get("ssl_cert")
	if authority == "" && cert == "" {
		if options.Has("ssl") {
			return "skip-verify", nil
		}
		return "", nil
	}
	// verifyChain below replaces the verification.
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, InsecureSkipVerify: true}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return "", fmt.Errorf("ssl_ca: %w", err)
		}
		trusted := x509.NewCertPool()
		if !trusted.AppendCertsFromPEM(text) {
			return "", errors.New("ssl_ca: no certificate in " + authority)
		}
		name := ""
		if said := options.Get("ssl_verify_identity"); said == "true" || said == "True" || said == "1" {
			name = host
		}
		config.VerifyConnection = func(state tls.ConnectionState) error {
			return verifyChain(state, trusted, name)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, options.Get("ssl_key"))
		if err != nil {
			return "", fmt.Errorf("ssl_cert with ssl_key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	name = "berth " + host + " " + authority + " " + cert + " " + options.Get("ssl_verify_identity")
	return name, mysql.RegisterTLSConfig(name, config)
}

// verifyChain verifies the certificate of a server with the trusted authorities, and its host name unless
// name is empty.
func verifyChain(state tls.ConnectionState, trusted *x509.CertPool, name string) error {
	between := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: trusted, Intermediates: between, DNSName: name})
	return err
}
