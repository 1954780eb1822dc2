// Package session parses recorded sessions of commands: command lines with the prefix "$ berth ", each followed by its output.
// Lines with # are comments.
//
// It is for tests only.
package session

import "strings"

// Step is a command line with its recorded output, and the comments before the next one.
type Step struct{ Line, Output, Comment string }

const prompt = "$ berth "

// Parse returns the steps of a file.
func Parse(text string) (steps []Step) {
	for _, step := range strings.SplitAfter("\n"+text, "\n"+prompt)[1:] {
		line, rest, _ := strings.Cut(strings.TrimSuffix(step, prompt), "\n")
		output, comment := cutComment(rest)
		steps = append(steps, Step{line, output, comment})
	}
	return steps
}

// Head returns the comments before the first step.
func Head(text string) string {
	head, _, _ := strings.Cut("\n"+text, "\n"+prompt)
	return strings.TrimPrefix(head+"\n", "\n")
}

// cutComment splits the output of a step from the comments before the next step.
func cutComment(text string) (output, comment string) {
	if at := strings.Index("\n"+text, "\n#"); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}

// Words splits the command line at white space outside single quotes.
func (s Step) Words() (words []string) {
	for i, part := range strings.Split(s.Line, "'") {
		if i%2 == 0 {
			words = append(words, strings.Fields(part)...)
		} else {
			words = append(words, part)
		}
	}
	return words
}
