package auth

import (
	"slices"
	"strings"
)

// impliedRoles lists the roles that Keystone's bootstrap makes imply each other, each with the role that it
// implies, in an order that needs one pass.
var impliedRoles = [][2]string{{"admin", "manager"}, {"manager", "member"}, {"member", "reader"}}

// Implied returns the roles with those that they imply: admin implies manager, manager implies member, and
// member implies reader. Keystone puts implied roles into its tokens; other methods use this function. It
// does not change the given slice.
func Implied(roles []string) []string {
	all := slices.Clone(roles)
	for _, implied := range impliedRoles {
		if has(all, implied[0]) && !has(all, implied[1]) {
			all = append(all, implied[1])
		}
	}
	return all
}

func has(roles []string, wanted string) bool {
	return slices.ContainsFunc(roles, func(text string) bool { return strings.EqualFold(text, wanted) })
}
