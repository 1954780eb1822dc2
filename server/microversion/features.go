package microversion

// What changed in behaviour rather than in shape, by name.

// AllowsReparenting: a child may get another parent, or none (1.37).
func (v Version) AllowsReparenting() bool { return v >= 37 }

// RepeatsMemberOf: member_of may occur several times (1.24).
func (v Version) RepeatsMemberOf() bool { return v >= 24 }

// ForbidsMemberOf: member_of may exclude aggregates (1.32).
func (v Version) ForbidsMemberOf() bool { return v >= 32 }

// ForbidsTraits: required may exclude traits (1.22).
func (v Version) ForbidsTraits() bool { return v >= 22 }

// HasAnyOfTraits: required may name alternatives and be repeated (1.39).
func (v Version) HasAnyOfTraits() bool { return v >= 39 }

// AllowsFullReservation: all of an inventory may be reserved (1.26).
func (v Version) AllowsFullReservation() bool { return v >= 26 }

// ChecksConsumers: clients say which generation a consumer has (1.28).
func (v Version) ChecksConsumers() bool { return v >= 28 }

// GroupsCandidates: candidates are asked for in groups with suffixes (1.25).
func (v Version) GroupsCandidates() bool { return v >= 25 }

// CombinesTrees: a candidate may use several providers of one tree (1.29).
func (v Version) CombinesTrees() bool { return v >= 29 }

// NamesGroups: suffixes are names and not only numbers (1.33).
func (v Version) NamesGroups() bool { return v >= 33 }

// AllowsResourcelessGroups: a group that takes nothing may say which provider must
// stand above the others (1.36).
func (v Version) AllowsResourcelessGroups() bool { return v >= 36 }
