package main

// runSettings are for the listener: addresses, TLS and limits.
type runSettings struct {
}

func (s *runSettings) table() []setting {
	return []setting{}
}
