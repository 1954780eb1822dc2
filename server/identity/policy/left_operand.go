package policy

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// The left operand of a check such as project_id:%(project_id)s is parsed like a Python expression: a
// literal is a text, and any other expression is the path of a credential.
var (
	plainText   = regexp.MustCompile(`^(?:'[^'\\]*'|"[^"\\]*")$`)
	wholeNumber = regexp.MustCompile(`^([-+]?)(0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?0)*|[1-9](?:_?[0-9])*)$`)
	// An expression of names is not a literal, so it is a path, which no credential has.
	formula = regexp.MustCompile(`^[-+~]*` + dotted + `(?:(?:\*\*|//|[-+*/%@&|^])[-+~]*` + dotted + `)*$`)
	between = regexp.MustCompile(`[-+~*/%@&|^]+`)
	path    = regexp.MustCompile(`^` + dotted + `$`)
)

const dotted = `[\pL_][\pL\pN_]*(?:\.[\pL_][\pL\pN_]*)*`

// pythonWords lists the keywords of Python, which cannot be names of attributes.
var pythonWords = []string{
	"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
	"finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass",
	"raise", "return", "try", "while", "with", "yield",
}

// leftOperand parses the part before the colon.
func (p *parser) leftOperand(result *check, left string, at int) {
	switch {
	case left == "True" || left == "False" || left == "None":
		result.op, result.name = opLiteral, left
	case plainText.MatchString(left):
		result.op, result.name = opLiteral, left[1:len(left)-1]
	case wholeNumber.MatchString(left):
		result.op, result.name = opLiteral, decimal(left)
	case path.MatchString(left) && !hasPythonWord(left):
		p.credential(result, left, at)
	case formula.MatchString(left) && !hasPythonWord(left):
		result.op = opNever
		p.warn(at, "no caller has an attribute %s, so it never matches; %s", left, attributesHelp)
	default:
		result.op = opBroken
		p.warn(at, "%s is invalid before a colon, so it denies every caller that reaches it; write an attribute of the caller, 'text', "+
			"a whole number, True, False or None", left)
	}
}

// credential finds the attribute of the caller for a path.
func (p *parser) credential(result *check, name string, at int) {
	first, _, deeper := strings.Cut(name, ".")
	result.op, result.deeper = opCredential, deeper
	found := slices.Index(credentialNames, first)
	if found < 0 {
		result.op = opNever
		p.warn(at, "no caller has an attribute %s, so it never matches; %s", first, attributesHelp)
		return
	}
	if result.from = credential(found); deeper {
		p.warn(at, "%s has no parts, so it denies every caller that reaches it; %s", first, attributesHelp)
	}
}

var attributesHelp = "attributes are " + strings.Join(credentialNames, ", ")

// hasPythonWord reports whether a path or expression contains a keyword. The constants are keywords except
// at the start of a path.
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

// decimal returns a whole number in Python's format.
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
