package legacy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/go-sql-driver/mysql"
)

// mysqlTLS gives the driver what an address says of TLS, in the words of PyMySQL
// (ssl_ca, ssl_cert, ssl_key, ssl_verify_identity), and returns its name there; empty
// where it says nothing. As there, an authority that is named is asked for the server's
// certificate, and the host's name is compared only if that is said.
func mysqlTLS(host string, options url.Values) (name string, err error) {
	authority, cert := options.Get("ssl_ca"), options.Get("ssl_cert")
	if authority == "" && cert == "" {
		if options.Has("ssl") {
			return "skip-verify", nil
		}
		return "", nil
	}
	// What is checked instead is below.
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, InsecureSkipVerify: true}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return "", fmt.Errorf("ssl_ca: %w", err)
		}
		trusted := x509.NewCertPool()
		if !trusted.AppendCertsFromPEM(text) {
			return "", errors.New("ssl_ca: there is no certificate in " + authority)
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

// verifyChain checks that an authority vouches for a server, and for its name unless
// that is empty.
func verifyChain(state tls.ConnectionState, trusted *x509.CertPool, name string) error {
	between := x509.NewCertPool()
	for _, one := range state.PeerCertificates[1:] {
		between.AddCert(one)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: trusted, Intermediates: between, DNSName: name})
	return err
}
