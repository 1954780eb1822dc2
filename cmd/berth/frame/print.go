package frame

import "fmt"

// Printf prints one line on standard output.
func (f *Frame) Printf(format string, values ...any) error {
	_, err := fmt.Fprintf(f.Stdout, format+"\n", values...)
	return err
}

// ForEach calls do for each argument. It prints each error at once and continues; the returned
// error has the number of failures. For a single argument it returns the error of do.
func (f *Frame) ForEach(arguments []string, do func(argument string) error) error {
	if len(arguments) == 1 {
		return do(arguments[0])
	}
	failed := 0
	for _, argument := range arguments {
		if err := do(argument); err != nil {
			failed++
			fmt.Fprintf(f.Stderr, "berth: %v\n", err)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d failed", failed, len(arguments))
	}
	return nil
}

// OrDash returns the text, or a dash if it is empty, as a cell of a table.
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
