package candidates

// Stats returns what the search did so far.
func (c *Result) Stats() Stats { return c.search.tally }
