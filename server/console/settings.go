package console

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Settings are the choices of the operator about the console.
type Settings struct {
	// Key seals the cookies: 32 bytes, or empty for a random key, with which no other server opens them.
	Key []byte
	// URL is the origin of the console from the view of browsers, for proxies that change the Host header; empty: none.
	URL string
	// Unprotected reports that the service authenticates no caller and that other hosts can reach it.
	Unprotected bool
	// AggregateNames are names of aggregates, which the API does not have.
	AggregateNames map[uuid.UUID]string
	// Shapes are named queries, from which users choose.
	Shapes []Shape
	// CheckResult is the file with the output of `berth db check --output json`; empty: none.
	CheckResult string
}

// Identity is the caller of a token. Expires is zero if the end of the token is not known.
type Identity struct {
	User, Project string
	Roles         []string
	System        bool // the token is for the whole deployment
	Expires       time.Time
}

// Credentials are what a user signs in to Keystone with: a name and a password, an application credential, or the unscoped
// token of a Grant with the id of a project.
type Credentials struct {
	User, Domain, Password, Project string
	ApplicationID, Secret           string
	Token, ProjectID                string
}

// Grant is a token of Keystone. With Projects it is unscoped, and the user chooses one of them.
type Grant struct {
	Token    string
	Expires  time.Time
	Projects []Project
}

// Project is a project of a user in Keystone.
type Project struct{ ID, Name string }

// Keystone requests a token with credentials. Its error has a sentence for the user: InvalidCredentials, or Unavailable
// if Keystone does not answer.
type Keystone func(ctx context.Context, given Credentials) (Grant, error)

// InvalidCredentials returns the error of credentials that Keystone rejects, with its sentence.
func InvalidCredentials(sentence string) error { return invalid("%s", sentence) }

// Unavailable is the error of an identity service that does not answer. Its text is for the user.
type Unavailable string

// Error implements error.
func (u Unavailable) Error() string { return string(u) }

// isUnavailable reports whether trying again may help.
func isUnavailable(err error) bool { return errors.As(err, new(Unavailable)) }
