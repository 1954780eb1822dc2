package explain

import "time"

// SetMaxWalk sets the time in which trees are judged.
func (x *Explainer) SetMaxWalk(limit time.Duration) { x.maxWalk = limit }
