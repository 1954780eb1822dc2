package server

// Limits say how much the service takes on at once.
type Limits struct {
}
