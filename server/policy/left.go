package policy

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// The left side of a check such as project_id:%(project_id)s is read as Python reads an
// expression: a literal is itself, and anything else is the path of a credential.
var (
	plainText   = regexp.MustCompile(`^(?:'[^'\\]*'|"[^"\\]*")$`)
	wholeNumber = regexp.MustCompile(`^([-+]?)(0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?0)*|[1-9](?:_?[0-9])*)$`)
	// A formula of names is no literal, so it is a path, which no credential has.
	formula = regexp.MustCompile(`^[-+~]*` + dotted + `(?:(?:\*\*|//|[-+*/%@&|^])[-+~]*` + dotted + `)*$`)
	between = regexp.MustCompile(`[-+~*/%@&|^]+`)
	path    = regexp.MustCompile(`^` + dotted + `$`)
)

const dotted = `[\pL_][\pL\pN_]*(?:\.[\pL_][\pL\pN_]*)*`

// Words that Python keeps for itself; an attribute cannot be called so.
var pythonWords = []string{
	"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
	"finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass",
	"raise", "return", "try", "while", "with", "yield",
}

// left decides what the part before the colon is.
func (p *parser) left(made *check, left string, at int) {
	switch {
	case left == "True" || left == "False" || left == "None":
		made.op, made.name = opLiteral, left
	case plainText.MatchString(left):
		made.op, made.name = opLiteral, left[1:len(left)-1]
	case wholeNumber.MatchString(left):
		made.op, made.name = opLiteral, decimal(left)
	case path.MatchString(left) && !hasPythonWord(left):
		p.credential(made, left, at)
	case formula.MatchString(left) && !hasPythonWord(left):
		made.op = opNever
		p.warn(at, "no caller has an attribute %s, so it never matches; %s", left, attributesHelp)
	default:
		made.op = opBroken
		p.warn(at, "%s cannot stand before a colon, so nobody passes here; write an attribute of the caller, 'text', "+
			"a whole number, True, False or None", left)
	}
}

// credential finds the attribute of the caller that a path names.
func (p *parser) credential(made *check, name string, at int) {
	first, _, deeper := strings.Cut(name, ".")
	made.op, made.deeper = opCredential, deeper
	found := slices.Index(credentialNames, first)
	if found < 0 {
		made.op = opNever
		p.warn(at, "no caller has an attribute %s, so it never matches; %s", first, attributesHelp)
		return
	}
	if made.from = credential(found); deeper {
		p.warn(at, "%s has no parts, so nobody passes here; %s", first, attributesHelp)
	}
}

var attributesHelp = "attributes are " + strings.Join(credentialNames, ", ")

// hasPythonWord looks at every name of a path or formula. The constants are names only
// where a path begins with them.
func hasPythonWord(expression string) bool {
	for i, part := range between.Split(expression, -1) {
		for j, name := range strings.Split(part, ".") {
			constant := name == "True" || name == "False" || name == "None"
			if slices.Contains(pythonWords, name) || constant && j > 0 || constant && i == 0 && part == expression {
				return true
			}
		}
	}
	return false
}

// decimal is how Python prints a whole number.
func decimal(text string) string {
	parts := wholeNumber.FindStringSubmatch(text)
	number, _ := new(big.Int).SetString(strings.ToLower(strings.ReplaceAll(parts[2], "_", "")), 0)
	if strings.Trim(parts[2], "0_") == "" {
		number = new(big.Int)
	}
	if parts[1] == "-" {
		number.Neg(number)
	}
	return number.String()
}
