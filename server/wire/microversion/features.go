package microversion

// These functions name changes of behavior that are not changes of a format.

// AllowsReparenting reports whether the parent of a child can be changed or removed (1.37).
func (v Version) AllowsReparenting() bool { return v >= 37 }

// RepeatsMemberOf reports whether member_of can be repeated (1.24).
func (v Version) RepeatsMemberOf() bool { return v >= 24 }

// ForbidsMemberOf reports whether member_of can forbid aggregates (1.32).
func (v Version) ForbidsMemberOf() bool { return v >= 32 }

// ForbidsTraits reports whether required can forbid traits (1.22).
func (v Version) ForbidsTraits() bool { return v >= 22 }

// HasAnyOfTraits reports whether required can contain any-of traits and be repeated (1.39).
func (v Version) HasAnyOfTraits() bool { return v >= 39 }

// HasOwnErrorCodes reports whether the limits and failures that only Berth has have error codes of their own (berth 1.5).
func (v Version) HasOwnErrorCodes() bool { return v >= Berth(5) }

// NamesFreedConsumers reports whether explanations say which consumers must go, and begin with the trees that fit then (berth
// 1.6).
func (v Version) NamesFreedConsumers() bool { return v >= Berth(6) }

// HasLeases reports whether consumers have leases (berth 1.6).
func (v Version) HasLeases() bool { return v >= Berth(6) }

// AllowsFullReservation reports whether an inventory can be completely reserved (1.26).
func (v Version) AllowsFullReservation() bool { return v >= 26 }

// ChecksConsumers reports whether claims contain the consumer generation (1.28).
func (v Version) ChecksConsumers() bool { return v >= 28 }

// GroupsCandidates reports whether candidate queries have groups with suffixes (1.25).
func (v Version) GroupsCandidates() bool { return v >= 25 }

// CombinesTrees reports whether a candidate can use several providers of one tree (1.29).
func (v Version) CombinesTrees() bool { return v >= 29 }

// NamesGroups reports whether suffixes can be names instead of numbers (1.33).
func (v Version) NamesGroups() bool { return v >= 33 }

// AllowsResourcelessGroups reports whether groups can have no resources, to select the common ancestor of a subtree
// (1.36).
func (v Version) AllowsResourcelessGroups() bool { return v >= 36 }
