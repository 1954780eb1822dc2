package explain

import "time"

// SetMaxWalk sets the time in which trees are judged.
func (x *Explainer) SetMaxWalk(limit time.Duration) { x.maxWalk = limit }

// OmitFits makes explanations without fits_at, to compare what it costs.
func (x *Explainer) OmitFits(omits bool) { x.omitsFits = omits }
