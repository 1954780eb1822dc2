package inside

import (
	"context"
	"net/http"
)

// clientHeader carries a Client over the pipe. A request from a network does not pass through this package, so that its
// header of this name has no effect.
const clientHeader = "Berth-Inside-Client"

// Client is the client on whose behalf this process sends a request.
type Client struct {
	// Address is the address of the client, or the name that a proxy gave it; empty for a client on a Unix socket.
	Address string
	// Network is the network whose clients share limits.
	Network string
}

// SetClient sets the client of a request to a Transport.
func SetClient(header http.Header, of Client) {
	header[clientHeader] = []string{of.Address, of.Network}
}

type clientKey struct{}

// ClientOf returns the client of a request that came over a Transport, and whether one was set.
func ClientOf(ctx context.Context) (Client, bool) {
	found, ok := ctx.Value(clientKey{}).(Client)
	return found, ok
}

// readClient moves the client from the header to the context.
func readClient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if of := r.Header[clientHeader]; len(of) == 2 {
			delete(r.Header, clientHeader)
			r = r.WithContext(context.WithValue(r.Context(), clientKey{}, Client{of[0], of[1]}))
		}
		next.ServeHTTP(w, r)
	})
}
