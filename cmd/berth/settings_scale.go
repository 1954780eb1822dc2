package main

// scaleSettings are for more than one machine.
type scaleSettings struct {
}

func (s *scaleSettings) table() []setting {
	return []setting{}
}
