package rig

// Failure is the error of a run that is complete and has a bad result. Its text says
// which; the command ends with 1 and not with 2.
type Failure string

// Error returns the text.
func (f Failure) Error() string { return string(f) }
