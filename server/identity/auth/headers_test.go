package auth

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// known lists the headers that the middleware sets, in the spelling of its documentation. They are listed
// here again so that the test does not depend on the code.
var known = strings.Fields(`
	X-Identity-Status X-Domain-Id X-Domain-Name X-Project-Id X-Project-Name X-Project-Domain-Id X-Project-Domain-Name
	X-User-Id X-User-Name X-User-Domain-Id X-User-Domain-Name X-Roles X-Is-Admin-Project OpenStack-System-Scope
	X-Service-Identity-Status X-Service-Domain-Id X-Service-Domain-Name X-Service-Project-Id X-Service-Project-Name
	X-Service-Project-Domain-Id X-Service-Project-Domain-Name X-Service-User-Id X-Service-User-Name
	X-Service-User-Domain-Id X-Service-User-Domain-Name X-Service-Roles X-Service-Catalog
	X-Role X-User X-Tenant-Id X-Tenant-Name X-Tenant`)

// FuzzNoIdentityOfAClientPasses sends the identity headers in all spellings.
func FuzzNoIdentityOfAClientPasses(f *testing.F) {
	for i := range known {
		f.Add(i, uint64(i), "X-Other")
	}
	f.Fuzz(func(t *testing.T, which int, seed uint64, other string) {
		name := known[int(uint(which)%uint(len(known)))]
		dice := rand.New(rand.NewPCG(seed, 0))
		spelled := strings.Map(func(r rune) rune {
			switch dice.IntN(3) {
			case 0:
				return []rune(strings.ToUpper(string(r)))[0]
			case 1:
				return []rune(strings.ToLower(string(r)))[0]
			}
			if r == '-' {
				return '_'
			}
			return r
		}, name)
		// The canonical form is what a server reads; code may also set other spellings.
		header := http.Header{spelled: {"admin"}, http.CanonicalHeaderKey(spelled): {"admin"}, "X-Auth-Token": {"t"}, "Accept": {"*/*"}}
		header[other] = append(header[other], "other")
		DropIdentity(header)
		for left := range header {
			for _, name := range known {
				if strings.EqualFold(strings.ReplaceAll(left, "_", "-"), name) {
					t.Errorf("%q passes", left)
				}
			}
		}
		if len(header["X-Auth-Token"]) == 0 || len(header["Accept"]) == 0 {
			t.Errorf("DropIdentity removed other headers: %v", header)
		}
	})
}
