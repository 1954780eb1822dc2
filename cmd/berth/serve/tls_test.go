package serve

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/internal/test/authority"
	"github.com/berthd/berth/internal/test/capture"
)

// secured is a server with a directory of TLS files.
type secured struct {
	t         *testing.T
	authority *authority.Authority
	directory string
	log       *capture.Text
	loaded    *open.Certificates
	url       string
}

func (s *secured) write(name string, text []byte) {
	s.t.Helper()
	// A rename, as by `mv`, replaces the file atomically.
	path := filepath.Join(s.directory, name)
	if err := errors.Join(os.WriteFile(path+".new", text, 0o600), os.Rename(path+".new", path)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *secured) replace(name string) {
	s.t.Helper()
	cert, key := s.authority.Pair(name)
	s.write("cert.pem", cert)
	s.write("key.pem", key)
}

func setupSecured(t *testing.T, arguments ...string) *secured {
	t.Helper()
	s := &secured{t: t, authority: authority.New(t), directory: t.TempDir(), log: new(capture.Text)}
	s.replace("first")
	s.write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.authority.Cert.Raw}))
	for i := range arguments {
		arguments[i] = strings.ReplaceAll(arguments[i], "DIR", s.directory)
	}
	settings, _, err := loaded(t, config.ForServer, append([]string{"--listen=127.0.0.1:0",
		"--tls-cert=" + filepath.Join(s.directory, "cert.pem"), "--tls-key=" + filepath.Join(s.directory, "key.pem")}, arguments...), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.loaded, err = open.LoadCertificates(settings, slog.New(slog.NewTextHandler(s.log, nil))); err != nil {
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
	server.TLSConfig = s.loaded.Config()
	go func() { _ = doors[0].serve(server) }()
	t.Cleanup(func() { server.Close() })
	return s
}

// shown returns the name in the certificate of a new connection.
func (s *secured) shown(config *tls.Config) (name, protocol string, err error) {
	s.t.Helper()
	config.RootCAs = s.authority.Pool()
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

func TestServer_TLS_HTTP2AndTLS12OrNewer(t *testing.T) {
	t.Parallel()
	s := setupSecured(t)
	if !strings.HasPrefix(s.url, "https://127.0.0.1:") {
		t.Errorf("the URL is %s", s.url)
	}
	if name, protocol, err := s.shown(new(tls.Config)); err != nil || name != "first" || protocol != "HTTP/2.0" {
		t.Errorf("%s over %s, %v", name, protocol, err)
	}
	if _, _, err := s.shown(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 handshake succeeded")
	}
}

// A handshake checks the files, at most once per second; SIGHUP checks them at once.
func TestServer_CertificateChanged_Reloaded(t *testing.T) {
	t.Parallel()
	s := setupSecured(t)
	s.wantShown("first")
	s.replace("second")
	time.Sleep(open.CertCheckInterval)
	s.wantShown("second")
	s.replace("third")
	s.loaded.Refresh(time.Now())
	s.wantShown("third")
	if strings.Count(s.log.String(), "reloaded the TLS certificate") != 2 {
		t.Errorf("the log: %s", s.log)
	}
}

func TestServer_CertificateInvalid_KeepsPrevious(t *testing.T) {
	t.Parallel()
	s := setupSecured(t)
	_, foreign := authority.New(t).Pair("foreign")
	s.write("key.pem", foreign)
	s.loaded.Refresh(time.Now())
	s.wantShown("first")
	s.loaded.Refresh(time.Now())
	if log := s.log.String(); strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "keeping the previous certificate") {
		t.Errorf("the log: %s", log)
	}
	if bytes.Contains([]byte(s.log.String()), foreign[30:60]) {
		t.Error("the key is in the log")
	}
	if err := os.Remove(filepath.Join(s.directory, "cert.pem")); err != nil {
		t.Fatal(err)
	}
	s.loaded.Refresh(time.Now())
	s.wantShown("first")
	s.replace("second") // both again
	s.loaded.Refresh(time.Now())
	s.wantShown("second")
}

func TestServer_ClientCASet_RequiresClientCertificate(t *testing.T) {
	t.Parallel()
	s := setupSecured(t, "--tls-client-ca=DIR/ca.pem")
	if _, _, err := s.shown(new(tls.Config)); err == nil {
		t.Error("a client without a certificate was served")
	}
	for name, authority := range map[string]*authority.Authority{"known": s.authority, "foreign": authority.New(t)} {
		cert, err := tls.X509KeyPair(authority.Pair("client"))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = s.shown(&tls.Config{Certificates: []tls.Certificate{cert}})
		if served := err == nil; served != (name == "known") {
			t.Errorf("a client with a certificate that is %s: %v", name, err)
		}
	}
}
