package open

import "time"

// Limits of the HTTP server that are not configurable.
const (
	// A client that does not send its request line and headers within ten seconds is defective or
	// malicious. With TLS the handshake has ten seconds, and the headers ten more.
	HeaderTimeout = 10 * time.Second
	// Idle connections stay open longer than those of load balancers usually do (60 s): the
	// client must close first, or it may send a request on a closing connection.
	IdleTimeout = 120 * time.Second
)
