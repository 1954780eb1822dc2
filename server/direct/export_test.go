package direct

// Serve is a transport to any handler, for tests.
var Serve = serve
