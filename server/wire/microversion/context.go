package microversion

import "context"

type contextKey struct{}

// With returns a context with the negotiated version.
func With(ctx context.Context, v Version) context.Context {
	return context.WithValue(ctx, contextKey{}, v)
}

// From returns the version of the request, or Min if none was negotiated, as for a request without a version.
func From(ctx context.Context) Version {
	v, _ := Lookup(ctx)
	return v
}

// Lookup is From for code that also runs outside of the negotiation, such as the writer of a 401. It returns false if
// there is no version to announce.
func Lookup(ctx context.Context) (Version, bool) {
	v, ok := ctx.Value(contextKey{}).(Version)
	return v, ok
}
