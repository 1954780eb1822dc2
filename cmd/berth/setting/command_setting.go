package setting

import "github.com/spf13/pflag"

// CommandSetting is a setting with several environment variables, such as those of the OpenStack
// clients.
type CommandSetting struct {
	Setting
	Environment []string
}

// Find returns the text of the setting and its origin: a flag, the first variable that is set, or
// the default.
func (s CommandSetting) Find(flags *pflag.FlagSet, variables map[string]string) (text, origin string) {
	if flag := flags.Lookup(s.Name); flag != nil && flag.Changed {
		return flag.Value.String(), "flag --" + s.Name
	}
	for _, name := range s.Environment {
		if text := variables[name]; text != "" {
			return text, "environment " + name
		}
	}
	return s.Fallback, "default"
}
