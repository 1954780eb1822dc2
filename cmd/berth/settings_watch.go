package main

// watchSettings are for those who watch the service.
type watchSettings struct {
}

func (s *watchSettings) table() []setting {
	return []setting{}
}
