package oidcprovider

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// key is a key of the provider.
type key struct {
	id        string
	algorithm jose.SignatureAlgorithm
	private   crypto.Signer
}

// rsaKey returns one RSA key for all tests of a process, because generating one takes long.
var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// Rotate makes the provider sign with a new key, RS256 or ES256. It still publishes the previous keys.
func (p *Provider) Rotate(t testing.TB, algorithm jose.SignatureAlgorithm) {
	t.Helper()
	made := key{algorithm: algorithm}
	var err error
	if algorithm == jose.RS256 {
		made.private, err = rsaKey()
	} else {
		made.private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.rotations++
	made.id = fmt.Sprintf("key-%d", p.rotations)
	p.signing = made
	p.public = append(p.public, made)
}

// Retire makes the provider publish only the key with which it signs.
func (p *Provider) Retire() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.public = []key{p.signing}
}

// KeyID returns the id of the key with which the provider signs.
func (p *Provider) KeyID() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.signing.id
}

// PublicKey returns the public key with which tokens of the provider can be verified.
func (p *Provider) PublicKey() crypto.PublicKey {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.signing.private.Public()
}

// Sign returns a token with any header and claims, signed with the key of the provider: one that the
// protocol would not issue.
func (p *Provider) Sign(t testing.TB, header, claims map[string]any) string {
	t.Helper()
	return SignWith(t, p.signingKey(), header, claims)
}

// SignText is Sign with the text of the claims, which need not be valid.
func (p *Provider) SignText(t testing.TB, header map[string]any, claims string) string {
	t.Helper()
	return signText(t, p.signingKey(), header, []byte(claims))
}

func (p *Provider) signingKey() jose.SigningKey {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return jose.SigningKey{Algorithm: p.signing.algorithm, Key: p.signing.private}
}

// SignWith returns a token that is signed with any key.
func SignWith(t testing.TB, with jose.SigningKey, header, claims map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return signText(t, with, header, payload)
}

func signText(t testing.TB, with jose.SigningKey, header map[string]any, payload []byte) string {
	t.Helper()
	options := &jose.SignerOptions{}
	for name, value := range header {
		options.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(with, options)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// SigningKey implements op.Storage.
func (s *store) SigningKey(context.Context) (op.SigningKey, error) {
	s.p.mutex.Lock()
	defer s.p.mutex.Unlock()
	return signingKey{s.p.signing}, nil
}

// SignatureAlgorithms implements op.Storage.
func (s *store) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256, jose.ES256}, nil
}

// KeySet implements op.Storage.
func (s *store) KeySet(context.Context) ([]op.Key, error) {
	s.p.mutex.Lock()
	defer s.p.mutex.Unlock()
	var published []op.Key
	for _, each := range s.p.public {
		published = append(published, publicKey{each})
	}
	return published, nil
}

// signingKey implements op.SigningKey.
type signingKey struct{ key }

// ID implements op.SigningKey.
func (k signingKey) ID() string { return k.id }

// SignatureAlgorithm implements op.SigningKey.
func (k signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return k.algorithm }

// Key implements op.SigningKey.
func (k signingKey) Key() any { return k.private }

// publicKey implements op.Key.
type publicKey struct{ key }

// ID implements op.Key.
func (k publicKey) ID() string { return k.id }

// Algorithm implements op.Key.
func (k publicKey) Algorithm() jose.SignatureAlgorithm { return k.algorithm }

// Use implements op.Key.
func (k publicKey) Use() string { return "sig" }

// Key implements op.Key.
func (k publicKey) Key() any { return k.private.Public() }
