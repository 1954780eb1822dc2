package console

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/demo"
	"github.com/berthd/berth/internal/querytext"
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

// names are the names that the API does not have: those of aggregates are those of the operator, and of the sample data.
type names struct {
	aggregates, given map[uuid.UUID]string
	shapes            []Shape
}

// Reload replaces the names of aggregates and the shapes. It is safe for concurrent use.
func (c *Console) Reload(aggregates map[uuid.UUID]string, shapes []Shape) {
	all := demo.AggregateNames()
	maps.Copy(all, aggregates)
	c.names.Store(&names{all, aggregates, shapes})
}

// nameOrigin is the sentence about the name of an aggregate.
func (v *visit) nameOrigin(id uuid.UUID) string {
	known := v.c.names.Load()
	switch {
	case known.given[id] != "":
		return "The name is from the file of --aggregate-names; the API has the UUID alone."
	case known.aggregates[id] != "":
		return "The name is that of the sample data; the API has the UUID alone."
	}
	return "It has no name: the API has the UUID alone. The file of --aggregate-names can name it."
}

// aggregateField is a field for an aggregate, and the names to choose from.
func (v *visit) aggregateField(page *listPage) Input {
	field := v.entry("aggregate", "aggregate")
	field.Placeholder = "UUID"
	if names := unique(slices.Collect(maps.Values(v.c.names.Load().aggregates))); len(names) > 0 {
		field.Placeholder, field.List, page.Suggested = "name or UUID", "aggregates", names[:min(len(names), maxAggregates)]
	}
	return field
}

// aggregateName returns the name of an aggregate, or else its UUID, shortened.
func (v *visit) aggregateName(id uuid.UUID) string {
	return cmp.Or(v.c.names.Load().aggregates[id], short(id.String()))
}

// ReadAggregateNames reads the file of --aggregate-names. Its errors name the line.
func ReadAggregateNames(from io.Reader) (map[uuid.UUID]string, error) {
	return querytext.ReadAggregateNames(from)
}

// Shape is a query for allocation candidates with a name, such as m1.large.
type Shape = querytext.Shape

// ReadShapes reads the file of --shapes. Its errors name the line.
func ReadShapes(from io.Reader) ([]Shape, error) { return querytext.ReadShapes(from) }

// asked is the shape of a page: what the user chose, its query, and the amounts that it needs from one provider. The zero
// value is no shape.
type asked struct {
	Text  string
	Query client.CandidateQuery
	Units []client.CapacityUnit
}

// shape returns the shape that the address names: one of the file of shapes, resources such as "VCPU:4,MEMORY_MB:8192", or
// a query string. Another text is a fault of the field.
func (v *visit) shape() asked {
	text := strings.TrimSpace(v.query("shape"))
	query := strings.TrimPrefix(text, "?")
	for _, known := range v.c.names.Load().shapes {
		if known.Name == text {
			query = known.Query
		}
	}
	switch {
	case text == "":
		return asked{}
	case !strings.Contains(query, "="):
		query = "resources=" + query
	}
	found := querytext.New(querytext.Parse(query))
	if err := found.Check(); err != nil {
		v.fault("shape", "The shape %q is neither one with a name nor a query: %v.", text, err)
		return asked{}
	}
	return asked{text, found.Candidates(), found.Units()}
}
