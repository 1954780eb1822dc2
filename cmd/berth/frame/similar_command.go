package frame

import (
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// verbs are the verbs of other command-line tools, by the verb of berth.
var verbs = map[string][]string{
	"show":   {"get", "describe", "view", "info"},
	"list":   {"ls", "dir"},
	"delete": {"rm", "remove", "del", "destroy", "unset"},
	"create": {"add", "new", "make"},
	"set":    {"update", "edit", "modify", "change", "patch"},
}

// similarCommand returns the command line that the words most likely mean: one of their verbs or nouns is misspelled, of
// another tool, in the plural, or the verb comes before the noun. It returns "" if no command is similar.
func similarCommand(root *cobra.Command, words []string) string {
	best, least := "", math.MaxInt
	walkCommands(root, func(command *cobra.Command) {
		path := strings.Fields(command.CommandPath())[1:]
		cost, isSimilar := commandDistance(path, words)
		isTyped := len(words) > len(path) && slices.Equal(path, words[:len(path)]) && !strings.Contains(command.Use, " ")
		if !isSimilar || cost >= least || isTyped {
			return
		}
		best, least = command.CommandPath(), cost
		// A family takes no arguments, and of a longer command line the rest belongs to the user.
		if rest := words[min(len(path), len(words)):]; len(rest) > 0 && strings.Contains(command.Use, " ") {
			best += " " + strings.Join(rest, " ")
		}
	})
	return best
}

// walkCommands calls visit for all commands below root that its help shows.
func walkCommands(root *cobra.Command, visit func(*cobra.Command)) {
	for _, command := range root.Commands() {
		if command.IsAvailableCommand() {
			visit(command)
			walkCommands(command, visit)
		}
	}
}

// wordWeight is what a word costs that is left out, and plainWord what one costs that must be replaced: a command line with
// all words comes before one with some, and a misspelled word before one of another tool.
const wordWeight, plainWord = 100, 3

// commandDistance returns how different the first words are from the path of a command, in any order. isSimilar is false if
// one of them is like no word of the path.
func commandDistance(path, words []string) (cost int, isSimilar bool) {
	if len(words) == 0 || len(path) > len(words) {
		return 0, false
	}
	typed := words[:len(path)]
	cost = wordWeight * (len(words) - len(path))
	unused := slices.Clone(path)
	for at, word := range typed {
		nearest, index := math.MaxInt, -1
		for i, part := range unused {
			distance, isLike := wordDistance(part, word, typed)
			if distance += abs(at - slices.Index(path, part)); isLike && distance < nearest {
				nearest, index = distance, i
			}
		}
		if index < 0 {
			return 0, false
		}
		cost += nearest
		unused = slices.Delete(unused, index, index+1)
	}
	return cost, true
}

// wordDistance returns how different a typed word is from a word of a command. With a noun in the plural, the verbs of show
// mean list.
func wordDistance(part, word string, typed []string) (distance int, isLike bool) {
	word = strings.ToLower(word)
	singular := strings.TrimSuffix(word, "s")
	switch {
	case word == part:
		return 0, true
	case singular == part, singular+"y" == part, strings.TrimSuffix(word, "ies")+"y" == part:
		return 1, true
	case part == "list" && slices.Contains(verbs["show"], word) && slices.ContainsFunc(typed, func(other string) bool { return strings.HasSuffix(other, "s") }):
		return plainWord - 1, true
	case slices.Contains(verbs[part], word):
		return plainWord, true
	}
	distance = Distance(word, part)
	return plainWord + distance, distance <= max(1, min(len(word), len(part))/3)
}

func abs(n int) int { return max(n, -n) }
