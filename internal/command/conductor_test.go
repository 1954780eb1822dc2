package command

import (
	"syscall"
	"testing"

	"github.com/berthd/berth/internal/frame"
	"github.com/berthd/berth/internal/test/dbtest"
)

func TestConductor_Serve_RegistersBeforeFirstRequestAndUnregisters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arguments         []string
		placement, online bool
	}{
		"by default":             {nil, false, true},
		"with Placement":         {[]string{"--baremetal-backend=placement"}, true, true},
		"without the API at all": {[]string{"--baremetal-backend=off"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.NewEmpty(t)
			b := setupServe(t, append(c.arguments, "--baremetal-hostname=me", "--database-url", db.URL)...)
			asked := func(question string) (yes bool) {
				if err := db.Pool.QueryRow(t.Context(), question).Scan(&yes); err != nil {
					t.Fatal(err)
				}
				return yes
			}
			const online = "SELECT EXISTS (SELECT FROM conductors WHERE hostname = 'me' AND online AND drivers = '{fake-hardware}')"
			if got := asked(online); got != c.online {
				t.Errorf("online while it serves: %v", got)
			}
			if got := asked("SELECT placement FROM baremetal_backend"); got != c.placement {
				t.Errorf("nodes are providers: %v", got)
			}
			b.signals <- syscall.SIGTERM
			if code := <-b.exit; code != frame.ExitOK || asked(online) {
				t.Errorf("exit code %d, still online %v: %s", code, asked(online), b.stderr)
			}
		})
	}
}
