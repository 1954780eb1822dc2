package main

// policySettings say what callers may do.
type policySettings struct {
}

func (s *policySettings) table() []setting {
	return []setting{}
}
