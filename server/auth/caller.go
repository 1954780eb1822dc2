package auth

import "context"

// Caller is the identity behind a request. The zero value is nobody: it has no
// roles, so no policy rule allows it anything.
type Caller struct {
	UserID    string
	ProjectID string
	// Roles are as the client or the token spelled them; their case carries
	// no meaning.
	Roles []string
	// SystemScope is set, usually to "all", when the token is for the whole
	// deployment rather than for a project.
	SystemScope string
	// DomainID is set when the token is for a domain rather than for a project.
	DomainID string
	// UserDomainID and ProjectDomainID are where the user and the project are at
	// home; they are known of tokens that Keystone has vouched for.
	UserDomainID, ProjectDomainID string
	// OrdinaryProject says that the token is for a project which is, where such a
	// thing is told apart at all, not the one of administrators.
	OrdinaryProject bool
	// Service is the service that passes the request on, on behalf of the user, by a
	// token of its own; its roles are empty where none does.
	Service Service
}

// Service is who vouches for a request with a token beside that of the user.
type Service struct {
	UserID, ProjectID             string
	UserDomainID, ProjectDomainID string
	Roles                         []string
}

// ProjectScoped says whether the token is for a project, the only kind the
// rules of this API are made for.
func (c Caller) ProjectScoped() bool {
	return c.SystemScope == "" && c.DomainID == ""
}

type contextKey struct{}

// With records the caller for everything below.
func With(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, caller)
}

// From gives the caller of the request. Where none was recorded it is nobody,
// so that a forgotten authentication denies instead of allowing.
func From(ctx context.Context) Caller {
	caller, _ := ctx.Value(contextKey{}).(Caller)
	return caller
}
