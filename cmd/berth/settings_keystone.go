package main

// keystoneSettings are for asking Keystone who calls.
type keystoneSettings struct {
}

func (s *keystoneSettings) table() []setting {
	return []setting{}
}
