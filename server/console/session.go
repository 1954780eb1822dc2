package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// cookieName is the cookie of the session, and themeCookie that of the theme.
const (
	cookieName  = "berth_console"
	themeCookie = "berth_theme"
)

// maxSession is the longest life of a session. maxToken is the largest token that fits into a cookie.
const (
	maxSession = 8 * time.Hour
	maxToken   = 3 << 10
)

// session is the user of the console, as the cookie has it.
type session struct {
	// Token is sent as X-Auth-Token; empty with noauth2.
	Token string `json:"t,omitempty"`
	// User, Project and Roles name the caller. With noauth2 they are what the calls claim to be, else what the token says.
	User    string   `json:"u"`
	Project string   `json:"p,omitempty"`
	Roles   []string `json:"r"`
	// Expires ends the session.
	Expires time.Time `json:"e"`
}

// identify sets the headers of the caller.
func (s *session) identify(h http.Header) {
	if s.Token != "" {
		h.Set("X-Auth-Token", s.Token)
		return
	}
	token := s.User
	if s.Project != "" {
		token += ":" + s.Project
	}
	h.Set("X-Auth-Token", token)
	h.Set("X-Roles", strings.Join(s.Roles, ","))
}

// sealer encrypts sessions, so that a stolen cookie is good for the console and not for other services.
type sealer struct{ aead cipher.AEAD }

// newSealer returns the sealer of a key of 32 bytes; of a random key if it is empty.
func newSealer(key []byte) (*sealer, error) {
	if len(key) == 0 {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails
	}
	if len(key) != 32 {
		return nil, fmt.Errorf("the key of the console has %d bytes, want 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead}, err
}

func (s *sealer) seal(plain *session) (string, error) {
	text, err := json.Marshal(plain)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(cookieName))), nil
}

// These are errors of open: the cookie of another server or of nobody, and a session that has ended.
var (
	errForeignCookie = errors.New("another server sealed the cookie")
	errEnded         = errors.New("the session has ended")
)

func (s *sealer) open(text string, now time.Time) (*session, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, errForeignCookie
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(cookieName))
	if err != nil {
		return nil, errForeignCookie
	}
	var found session
	if err := json.Unmarshal(plain, &found); err != nil {
		return nil, errForeignCookie
	}
	if !now.Before(found.Expires) {
		return nil, errEnded
	}
	return &found, nil
}

// session returns the session of a request; nil without one. With noauth2 each request has one.
func (c *Console) session(r *http.Request) *session {
	if cookie, err := r.Cookie(cookieName); err == nil {
		if found, err := c.sealer.open(cookie.Value, time.Now()); err == nil && c.trustsCallers() == (found.Token == "") {
			return found
		}
	}
	if c.trustsCallers() {
		return personas[0].session()
	}
	return nil
}

// trustsCallers reports whether the service has no authentication.
func (c *Console) trustsCallers() bool { return c.options.Identify == nil }

// setSession sends the cookie of a session; nil deletes it.
func (v *visit) setSession(s *session) error {
	cookie := &http.Cookie{
		Name: cookieName, Path: v.base, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.secure(), MaxAge: -1,
	}
	if s != nil {
		text, err := v.c.sealer.seal(s)
		if err != nil {
			return err
		}
		cookie.Value, cookie.MaxAge = text, int(time.Until(s.Expires).Seconds())
	}
	http.SetCookie(v.w, cookie)
	return nil
}
