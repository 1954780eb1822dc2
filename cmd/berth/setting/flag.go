package setting

// FlagText is a flag that accepts any text. Package config reads the value later, because pflag
// stops at the first invalid value and config reports all.
type FlagText struct {
	Text, Kind string
}

// String implements pflag.Value.
func (f *FlagText) String() string { return f.Text }

// Set implements pflag.Value.
func (f *FlagText) Set(text string) error { f.Text = text; return nil }

// Type implements pflag.Value.
func (f *FlagText) Type() string { return f.Kind }

// FlagList is a flag that may be given more than once; the values are joined by commas.
type FlagList struct{ FlagText }

// Set appends a value.
func (f *FlagList) Set(text string) error {
	if f.Text != "" {
		text = f.Text + "," + text
	}
	f.Text = text
	return nil
}
