package placementdb

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// greeting returns the first packet of a MySQL 8 server, with or without TLS.
func greeting(withTLS bool) []byte {
	capabilities := byte(0x82) // protocol 4.1, secure connection in the high byte
	low := []byte{0x01, capabilities}
	if withTLS {
		low[1] |= 0x08
	}
	body := append([]byte{10}, "8.0.0\x00"...)
	body = append(body, 1, 0, 0, 0)
	body = append(body, "12345678\x00"...)
	body = append(body, low...)
	body = append(body, 33, 2, 0, 0x08, 0x00, 21)
	body = append(body, make([]byte, 10)...)
	body = append(body, "123456789012\x00mysql_native_password\x00"...)
	return append([]byte{byte(len(body)), 0, 0, 0}, body...)
}

// impostor is a server that speaks MySQL's protocol with a given certificate. It records whether a client
// sends data after the greeting, and whether over TLS.
func impostor(t *testing.T, certificate tls.Certificate, withTLS bool) (address string, told <-chan bool) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	heard := make(chan bool, 10)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = connection.Write(greeting(withTLS))
			if withTLS {
				_, _ = io.ReadFull(connection, make([]byte, 36)) // request for TLS
				connection = tls.Server(connection, &tls.Config{Certificates: []tls.Certificate{certificate}})
			}
			n, _ := connection.Read(make([]byte, 1000))
			heard <- n > 0
			connection.Close()
		}
	}()
	return listener.Addr().String(), heard
}

// selfSigned returns a certificate that no trusted authority has signed.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{{127, 0, 0, 1}}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestImport_MySQLWithCA_VerifiedBeforePassword(t *testing.T) {
	t.Parallel()
	trusted := httptest.NewTLSServer(nil)
	defer trusted.Close()
	strange := selfSigned(t)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trusted.Certificate().Raw})
	if err := os.WriteFile(authority, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		certificate tls.Certificate
		withTLS     bool
		options     url.Values
		told        bool
	}{
		"the right certificate":               {trusted.TLS.Certificates[0], true, url.Values{"ssl_ca": {authority}}, true},
		"the right certificate, and its name": {trusted.TLS.Certificates[0], true, url.Values{"ssl_ca": {authority}, "ssl_verify_identity": {"true"}}, true},
		"a certificate of another authority":  {strange, true, url.Values{"ssl_ca": {authority}}, false},
		"no TLS where an authority is named":  {strange, false, url.Values{"ssl_ca": {authority}}, false},
		"no TLS although ssl is set":          {strange, false, url.Values{"ssl": {"true"}}, false},
		"no TLS and no TLS options":           {strange, false, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, told := impostor(t, c.certificate, c.withTLS)
			address, err := ParseAddress("mysql://placement:secret@" + at + "/placement?" + c.options.Encode())
			if err != nil {
				t.Fatal(err)
			}
			pool, err := sql.Open("mysql", address.source)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err = pool.PingContext(ctx) // which the impostor does not answer
			if got := <-told; got != c.told || err == nil {
				t.Errorf("told: %v; %v", got, err)
			}
		})
	}
}

func TestImport_MySQLMissingCAFile_ReturnsError(t *testing.T) {
	t.Parallel()
	_, err := ParseAddress("mysql://a:b@host/placement?ssl_ca=/does/not/exist")
	if err == nil || !strings.Contains(err.Error(), "ssl_ca: open /does/not/exist") {
		t.Error(err)
	}
}
