package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/berthd/berth/server/identity/auth"
)

// Entry is a token in the file: its hash, and the identity of its bearer.
type Entry struct {
	// ID names the token in commands and logs.
	ID string
	// User is the bearer. The scope is exactly one of Project, Domain and System.
	User, Project, Domain string
	System                bool
	Roles                 []string
	// Created is zero if the file does not contain it.
	Created time.Time
	// Expires is the time from which the token is invalid; zero: never.
	Expires     time.Time
	Description string

	hash hash
}

// The maximum sizes in an entry. Ids of users and projects have the limit of the Placement API.
const (
	maxID          = 64
	maxName        = 255
	maxRoles       = 100
	maxDescription = 1000
)

// NewEntry adds a new id, a new token and the current time to an entry, and returns the token. Only its
// hash is in the entry. Times are in seconds, as in the file.
func NewEntry(of Entry, now time.Time) (entry Entry, token string, err error) {
	random := make([]byte, 6)
	rand.Read(random) // it never returns an error
	token = newToken()
	of.ID, of.hash = hex.EncodeToString(random), sha256.Sum256([]byte(token))
	of.Created, of.Expires = now.UTC().Truncate(time.Second), of.Expires.UTC().Truncate(time.Second)
	if err := of.validate(); err != nil {
		return Entry{}, "", err
	}
	if of.IsExpired(now) {
		return Entry{}, "", errors.New("the token would be expired already; choose a later time")
	}
	return of, token, nil
}

// IsExpired reports whether the token is invalid at a point in time.
func (e *Entry) IsExpired(now time.Time) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) }

// caller returns the identity that the token proves. The roles contain those that they imply.
func (e *Entry) caller() auth.Caller {
	caller := auth.Caller{
		UserID: e.User, ProjectID: e.Project, DomainID: e.Domain, Roles: auth.Implied(e.Roles),
		Method: auth.MethodTokens, TokenID: e.ID, Expires: e.Expires,
	}
	if e.System {
		caller.SystemScope = "all"
	}
	return caller
}

// validate returns an error for the first value that an entry must not have.
func (e *Entry) validate() error {
	scopes := 0
	for _, has := range []bool{e.Project != "", e.Domain != "", e.System} {
		if has {
			scopes++
		}
	}
	switch {
	case !isID(e.ID):
		return fmt.Errorf("the id %q is not 1 to %d letters, digits and the characters . _ -", shortened(e.ID), maxID)
	case e.User == "":
		return errors.New("the user is missing")
	case scopes != 1:
		return errors.New("the scope is not exactly one of project, domain and system")
	case len(e.Roles) == 0:
		return errors.New("roles are missing; a caller without roles may do nothing")
	case len(e.Roles) > maxRoles:
		return fmt.Errorf("it has %d roles, more than %d", len(e.Roles), maxRoles)
	}
	for name, value := range map[string]string{"user": e.User, "project": e.Project, "domain": e.Domain} {
		if !isText(value, maxName) {
			return fmt.Errorf("the %s is not up to %d printable characters without blanks at its ends", name, maxName)
		}
	}
	if !isText(e.Description, maxDescription) {
		return fmt.Errorf("the description is not up to %d printable characters without blanks at its ends", maxDescription)
	}
	for i, role := range e.Roles {
		if role == "" || !isText(role, maxName) || strings.ContainsRune(role, ',') {
			return fmt.Errorf("the role %q is not 1 to %d printable characters without commas and without blanks at its ends", shortened(role), maxName)
		}
		if slices.ContainsFunc(e.Roles[:i], func(other string) bool { return strings.EqualFold(other, role) }) {
			return fmt.Errorf("the role %q is listed twice", role)
		}
	}
	return nil
}

func isID(text string) bool {
	return text != "" && len(text) <= maxID && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	})
}

// isText reports whether a text is at most size bytes of printable characters without blanks at its ends,
// so that it cannot forge a line of a log.
func isText(text string, size int) bool {
	return len(text) <= size && utf8.ValidString(text) && strings.TrimSpace(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// shortened returns the start of a text for an error.
func shortened(text string) string {
	const size = 20
	if len(text) > size {
		return text[:size] + "…"
	}
	return text
}
