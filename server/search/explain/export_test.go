package explain

import "time"

// SetMaxWalk sets the time in which trees are judged.
func (x *Explainer) SetMaxWalk(limit time.Duration) { x.maxWalk = limit }

// SetMaxFits sets the time for fits_at; negative: explanations have none.
func (x *Explainer) SetMaxFits(limit time.Duration) { x.maxFits = limit }
