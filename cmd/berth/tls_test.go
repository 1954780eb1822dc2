package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority is one that signs certificates for a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.key = template, newKey(t)
	der := a.sign(template, a.key)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

// pool holds the authority.
func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// pair is a certificate with its key in PEM, for 127.0.0.1 and for clients.
func (a *authority) pair(name string) (cert, key []byte) {
	a.t.Helper()
	own := newKey(a.t)
	der := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, own)
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// secured is a directory of TLS files and a server that uses them.
type secured struct {
	t         *testing.T
	authority *authority
	directory string
	log       *lockedText
	loaded    *certificates
	url       string
}

func (s *secured) write(name string, text []byte) {
	s.t.Helper()
	// As `mv` does: never half a file.
	path := filepath.Join(s.directory, name)
	if err := errors.Join(os.WriteFile(path+".new", text, 0o600), os.Rename(path+".new", path)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *secured) replace(name string) {
	s.t.Helper()
	cert, key := s.authority.pair(name)
	s.write("cert.pem", cert)
	s.write("key.pem", key)
}

func setupSecured(t *testing.T, arguments ...string) *secured {
	t.Helper()
	s := &secured{t: t, authority: newAuthority(t), directory: t.TempDir(), log: new(lockedText)}
	s.replace("first")
	s.write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.authority.cert.Raw}))
	for i := range arguments {
		arguments[i] = strings.ReplaceAll(arguments[i], "DIR", s.directory)
	}
	settings, _, err := loaded(t, forServer, append([]string{"--listen=127.0.0.1:0",
		"--tls-cert=" + filepath.Join(s.directory, "cert.pem"), "--tls-key=" + filepath.Join(s.directory, "key.pem")}, arguments...), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.loaded, err = loadCertificates(settings, slog.New(slog.NewTextHandler(s.log, nil))); err != nil {
		t.Fatal(err)
	}
	doors, err := listen(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	s.url = doors[0].url("")
	server := newHTTPServer(settings, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Proto", r.Proto)
	}), slog.New(slog.DiscardHandler))
	server.TLSConfig = s.loaded.config()
	go func() { _ = doors[0].serve(server) }()
	t.Cleanup(func() { server.Close() })
	return s
}

// shown is the name in the certificate that a new connection is shown.
func (s *secured) shown(config *tls.Config) (name, protocol string, err error) {
	s.t.Helper()
	config.RootCAs = s.authority.pool()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	response, err := client.Get(s.url)
	if err != nil {
		return "", "", err
	}
	response.Body.Close()
	return response.TLS.PeerCertificates[0].Subject.CommonName, response.Header.Get("X-Proto"), nil
}

func (s *secured) wantShown(want string) {
	s.t.Helper()
	if name, _, err := s.shown(new(tls.Config)); err != nil || name != want {
		s.t.Errorf("shown %q, want %q: %v", name, want, err)
	}
}

func TestTLSIsSpokenWithHTTP2AndNothingOld(t *testing.T) {
	t.Parallel()
	s := setupSecured(t)
	if !strings.HasPrefix(s.url, "https://127.0.0.1:") {
		t.Errorf("the URL is %s", s.url)
	}
	if name, protocol, err := s.shown(new(tls.Config)); err != nil || name != "first" || protocol != "HTTP/2.0" {
		t.Errorf("%s over %s, %v", name, protocol, err)
	}
	if _, _, err := s.shown(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 was spoken")
	}
}

// The files are looked at with a handshake, at most once a second; and at once when
// somebody asks for it.
func TestAChangedCertificateIsTakenUp(t *testing.T) {
	t.Parallel()
	s := setupSecured(t)
	s.wantShown("first")
	s.replace("second")
	time.Sleep(lookEvery)
	s.wantShown("second")
	s.replace("third")
	s.loaded.refresh(time.Now())
	s.wantShown("third")
	if strings.Count(s.log.String(), "the TLS certificate has changed") != 2 {
		t.Errorf("the log: %s", s.log)
	}
}

func TestABrokenCertificateLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	s := setupSecured(t)
	_, foreign := newAuthority(t).pair("foreign")
	s.write("key.pem", foreign)
	s.loaded.refresh(time.Now())
	s.wantShown("first")
	s.loaded.refresh(time.Now())
	if log := s.log.String(); strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "the one before it stays") {
		t.Errorf("the log: %s", log)
	}
	if bytes.Contains([]byte(s.log.String()), foreign[30:60]) {
		t.Error("the key is in the log")
	}
	if err := os.Remove(filepath.Join(s.directory, "cert.pem")); err != nil {
		t.Fatal(err)
	}
	s.loaded.refresh(time.Now())
	s.wantShown("first")
	s.replace("second") // both again
	s.loaded.refresh(time.Now())
	s.wantShown("second")
}

func TestClientsShowACertificateWhereAnAuthorityIsNamed(t *testing.T) {
	t.Parallel()
	s := setupSecured(t, "--tls-client-ca=DIR/ca.pem")
	if _, _, err := s.shown(new(tls.Config)); err == nil {
		t.Error("a client without a certificate was served")
	}
	for name, authority := range map[string]*authority{"known": s.authority, "foreign": newAuthority(t)} {
		cert, err := tls.X509KeyPair(authority.pair("client"))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = s.shown(&tls.Config{Certificates: []tls.Certificate{cert}})
		if served := err == nil; served != (name == "known") {
			t.Errorf("a client with a certificate that is %s: %v", name, err)
		}
	}
}

func TestCertificatesThatCannotBeUsedStopTheStart(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	empty := filepath.Join(directory, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"serve", "--tls-cert", empty, "--tls-key", empty},
		{"serve", "--tls-cert", filepath.Join(directory, "missing"), "--tls-key", empty},
	} {
		got := runCommand(t, nil, arguments...)
		if got.code != exitFailed || !strings.Contains(got.stderr, arguments[2]) {
			t.Errorf("%q: exit code %d, %s", arguments, got.code, got.stderr)
		}
	}
	for _, arguments := range [][]string{
		{"serve", "--tls-cert", empty}, {"serve", "--tls-key", empty}, {"serve", "--tls-client-ca", empty},
		{"serve", "--trusted-proxies", "10.0.0.0/8"}, {"serve", "--proxy-headers", "--trusted-proxies", "ten"},
	} {
		if got := runCommand(t, nil, arguments...); got.code != exitUsage {
			t.Errorf("%q: exit code %d, %s", arguments, got.code, got.stderr)
		}
	}
}
