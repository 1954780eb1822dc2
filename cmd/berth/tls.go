package main

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
)

// certificates are what TLS shows and asks for, from files that may change while the
// server runs, as those of authorities that give out certificates for days do.
type certificates struct {
	cert, key, clientCA string
	log                 *slog.Logger

	mutex   sync.Mutex
	current *tls.Config
	// seen is how the files were when they were last read, also if they could not be
	// used; looked is when that was last compared.
	seen   [3]fs.FileInfo
	looked time.Time
}

// lookEvery is how often changed files are looked for, at the most: three calls of
// the system, by a handshake that takes a hundred times as long.
const lookEvery = time.Second

// loadCertificates reads the files; nil where TLS is off.
func loadCertificates(settings *Settings, log *slog.Logger) (*certificates, error) {
	if settings.TLSCert == "" {
		return nil, nil
	}
	c := &certificates{cert: settings.TLSCert, key: settings.TLSKey, clientCA: settings.TLSClientCA, log: log}
	c.seen, c.looked = c.look(), time.Now()
	var err error
	c.current, err = c.read()
	return c, err
}

// config is that of the listener: each handshake asks for the current one.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c.refresh(time.Now().Add(-lookEvery))
			c.mutex.Lock()
			defer c.mutex.Unlock()
			return c.current, nil
		},
	}
}

// refresh reads the files again if they have changed and were not looked at since a
// time. What cannot be used is told once, and what was read before stays.
func (c *certificates) refresh(since time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.looked.After(since) {
		return
	}
	c.looked = time.Now()
	// Looked at before they are read: what changes meanwhile is read the next time.
	now := c.look()
	if unchanged(c.seen, now) {
		return
	}
	c.seen = now
	fresh, err := c.read()
	if err != nil {
		c.log.Error("the TLS certificate has changed and cannot be used; the one before it stays", "error", err)
		return
	}
	c.current = fresh
	c.log.Info("the TLS certificate has changed", "subject", subjectOf(fresh), "not_after", fresh.Certificates[0].Leaf.NotAfter)
}

func subjectOf(config *tls.Config) string { return config.Certificates[0].Leaf.Subject.String() }

// look tells how the files are; nil for one that cannot be looked at. Symbolic links
// are followed: Kubernetes replaces what they lead to.
func (c *certificates) look() (found [3]fs.FileInfo) {
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

// read makes a configuration of the files.
func (c *certificates) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("the certificate %s with the key %s: %w; both must be PEM and belong together", c.cert, c.key, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{pair}}
	if c.clientCA == "" {
		return config, nil
	}
	text, err := os.ReadFile(c.clientCA)
	if err != nil {
		return nil, fmt.Errorf("the authorities of clients: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, errors.New("the authorities of clients: there is no certificate in " + c.clientCA)
	}
	return config, nil
}
