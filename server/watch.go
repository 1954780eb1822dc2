package server

// Watch says what is told to those who watch the service.
type Watch struct {
}
