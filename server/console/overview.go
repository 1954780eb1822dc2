package console

func (c *Console) overviewRoutes() {
	c.page("GET /{$}", "overview", (*visit).overview)
}

// overview builds the first page.
func (v *visit) overview() error {
	v.frame.Title, v.frame.Nav = "Overview", ""
	return nil
}
