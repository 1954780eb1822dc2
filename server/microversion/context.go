package microversion

import "context"

type contextKey struct{}

// With records the negotiated version for everything below.
func With(ctx context.Context, v Version) context.Context {
	return context.WithValue(ctx, contextKey{}, v)
}

// From gives the version of the request. Where none was negotiated it is Min,
// the version of a client that asks for nothing.
func From(ctx context.Context) Version {
	v, _ := Lookup(ctx)
	return v
}

// Lookup is From for code that also runs outside the negotiation, such as the
// writer of a 401, and has to know whether there is a version to announce.
func Lookup(ctx context.Context) (Version, bool) {
	v, ok := ctx.Value(contextKey{}).(Version)
	return v, ok
}
