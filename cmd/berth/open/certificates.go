package open

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/berthd/berth/cmd/berth/config"
)

// Certificates holds the server certificate and the client CAs of TLS. It reloads files that
// change while the server runs, such as short-lived certificates.
type Certificates struct {
	cert, key, clientCA string
	log                 *slog.Logger

	mutex   sync.Mutex
	current *tls.Config
	// seen is the state of the files when they were last read, even if they were invalid; looked
	// is the time of the last comparison.
	seen   [3]fs.FileInfo
	looked time.Time
}

// CertCheckInterval is the minimum interval between checks for changed files. A check is three
// system calls, in a handshake that takes a hundred times as long.
const CertCheckInterval = time.Second

// LoadCertificates reads the files; it returns nil without TLS.
func LoadCertificates(settings *config.Settings, log *slog.Logger) (*Certificates, error) {
	if settings.TLSCert == "" {
		return nil, nil
	}
	c := &Certificates{cert: settings.TLSCert, key: settings.TLSKey, clientCA: settings.TLSClientCA, log: log}
	c.seen, c.looked = c.look(), time.Now()
	var err error
	c.current, err = c.read()
	return c, err
}

// Config returns the TLS configuration of the listener, which uses the current certificate in
// each handshake.
func (c *Certificates) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c.Refresh(time.Now().Add(-CertCheckInterval))
			c.mutex.Lock()
			defer c.mutex.Unlock()
			return c.current, nil
		},
	}
}

// Refresh reloads changed files, unless it has checked them since a time. If they are invalid, it
// logs that once and keeps the previous certificate.
func (c *Certificates) Refresh(since time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.looked.After(since) {
		return
	}
	c.looked = time.Now()
	// The files are checked before they are read, so that the next call reads concurrent changes.
	now := c.look()
	if unchanged(c.seen, now) {
		return
	}
	c.seen = now
	fresh, err := c.read()
	if err != nil {
		c.log.Error("cannot reload the TLS certificate; keeping the previous certificate", "error", err)
		return
	}
	c.current = fresh
	c.log.Info("reloaded the TLS certificate", "subject", subjectOf(fresh), "not_after", fresh.Certificates[0].Leaf.NotAfter)
}

func subjectOf(config *tls.Config) string { return config.Certificates[0].Leaf.Subject.String() }

// look returns the file information of the files; nil for a file that cannot be read. It follows
// symbolic links, because Kubernetes replaces their targets.
func (c *Certificates) look() (found [3]fs.FileInfo) {
	for i, name := range []string{c.cert, c.key, c.clientCA} {
		if name != "" {
			found[i], _ = os.Stat(name)
		}
	}
	return found
}

func unchanged(before, now [3]fs.FileInfo) bool {
	for i := range before {
		a, b := before[i], now[i]
		if a == nil || b == nil {
			if a != b {
				return false
			}
			continue
		}
		if !os.SameFile(a, b) || !a.ModTime().Equal(b.ModTime()) || a.Size() != b.Size() {
			return false
		}
	}
	return true
}

// read returns a TLS configuration from the files.
func (c *Certificates) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("cannot load the certificate %s with the key %s: %w; both must be PEM and belong together", c.cert, c.key, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{pair}}
	if c.clientCA == "" {
		return config, nil
	}
	text, err := os.ReadFile(c.clientCA)
	if err != nil {
		return nil, fmt.Errorf("cannot read the client CA certificates: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, errors.New("no client CA certificate in " + c.clientCA)
	}
	return config, nil
}
