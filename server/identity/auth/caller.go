package auth

import (
	"context"
	"time"
)

// Caller is the identity behind a request. The zero value is an anonymous caller without roles, so policy
// rules deny it everything.
type Caller struct {
	UserID    string
	ProjectID string
	// Roles are the role names in the spelling of the client or the token; comparisons ignore case.
	Roles []string
	// SystemScope is set, usually to "all", when the token is for the whole
	// deployment rather than for a project.
	SystemScope string
	// DomainID is set when the token is for a domain rather than for a project.
	DomainID string
	// UserDomainID and ProjectDomainID are the domains of the user and the project. They are set only for
	// tokens that Keystone has validated.
	UserDomainID, ProjectDomainID string
	// OrdinaryProject reports that the token is for a project and that Keystone distinguishes an admin
	// project, which this is not.
	OrdinaryProject bool
	// Method is the authentication method, such as MethodKeystone.
	Method string
	// TokenID identifies the token in logs, without being the token: with MethodTokens the id of its entry
	// in the tokens file, with MethodOIDC the claim jti. It is empty for methods whose tokens have no id.
	TokenID string
	// Expires is when the token ends; zero if it does not, or with MethodNoauth2.
	Expires time.Time
	// Subject is the claim sub of a token of MethodOIDC, which may differ from UserID; empty for other
	// methods.
	Subject string
	// Service is the service that forwards the request on behalf of the user, identified by a token of its
	// own. Without one, its roles are empty.
	Service Service
}

// Service is the identity of a service token that accompanies the token of the user.
type Service struct {
	UserID, ProjectID             string
	UserDomainID, ProjectDomainID string
	Roles                         []string
}

// The authentication methods.
const (
	MethodNoauth2  = "noauth2"
	MethodKeystone = "keystone"
	MethodTokens   = "tokens"
	MethodOIDC     = "oidc"
)

// Scope returns the scope of the token: system, domain, project, or none for an anonymous caller.
func (c Caller) Scope() string {
	switch {
	case c.SystemScope != "":
		return "system"
	case c.DomainID != "":
		return "domain"
	case c.ProjectID != "":
		return "project"
	default:
		return "none"
	}
}

// ProjectScoped reports whether the token is neither for the system nor for a domain. The policy rules of
// the Placement API permit only such tokens.
func (c Caller) ProjectScoped() bool {
	return c.SystemScope == "" && c.DomainID == ""
}

type contextKey struct{}

// With returns a context with the caller.
func With(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, caller)
}

// From returns the caller in ctx. If there is none, it returns the anonymous caller, so that a missing
// authentication leads to a denial.
func From(ctx context.Context) Caller {
	caller, _ := ctx.Value(contextKey{}).(Caller)
	return caller
}
