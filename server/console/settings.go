package console

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Settings are the choices of the operator about the console.
type Settings struct {
	// Key seals the cookies: 32 bytes, or empty for a random key, with which no other server opens them.
	Key []byte
	// URL is the origin of the console from the view of browsers, for proxies that change the Host header; empty: none.
	URL string
	// Unprotected reports that the service authenticates nobody and that other hosts can reach it.
	Unprotected bool
	// AggregateNames are names of aggregates, which the API does not have.
	AggregateNames map[uuid.UUID]string
	// Shapes are named queries, from which users choose.
	Shapes []Shape
	// CheckResult is the file with the output of `berth db check --output json`; empty: none.
	CheckResult string
}

// Shape is a query for allocation candidates with a name, such as m1.large.
type Shape struct {
	Name  string
	Query string
}

// Identity is the caller of a token.
type Identity struct {
	User, Project string
	Roles         []string
}

// Credentials are what a user signs in to Keystone with: either a name and a password, or an application credential.
type Credentials struct {
	User, Domain, Password, Project string
	ApplicationID, Secret           string
}

// Keystone requests a token with credentials. The error of wrong credentials is an *inputError made by InvalidCredentials.
type Keystone func(ctx context.Context, given Credentials) (token string, expires time.Time, err error)

// InvalidCredentials returns the error of credentials that Keystone rejects, with its sentence.
func InvalidCredentials(sentence string) error { return invalid("%s", sentence) }
