package command

import (
	"syscall"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
)

func TestConductor_Serve_RegistersBeforeFirstRequestAndUnregisters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arguments         []string
		placement, online bool
	}{
		"default":   {nil, false, true},
		"Placement": {[]string{"--baremetal-backend=placement"}, true, true},
		"off":       {[]string{"--baremetal-backend=off"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.NewEmpty(t)
			b := setupServe(t, append(c.arguments, "--baremetal-hostname=me", "--database-url", db.URL)...)
			query := func(sql string) (result bool) {
				if err := db.Pool.QueryRow(t.Context(), sql).Scan(&result); err != nil {
					t.Fatal(err)
				}
				return result
			}
			const online = "SELECT EXISTS (SELECT FROM conductors WHERE hostname = 'me' AND online AND drivers = '{fake-hardware}')"
			if got := query(online); got != c.online {
				t.Errorf("online = %v, want %v", got, c.online)
			}
			if got := query("SELECT placement FROM baremetal_backend"); got != c.placement {
				t.Errorf("placement backend = %v, want %v", got, c.placement)
			}
			b.signals <- syscall.SIGTERM
			if code := <-b.exit; code != frame.ExitOK || query(online) {
				t.Errorf("exit code %d, online after the exit = %v: %s", code, query(online), b.stderr)
			}
		})
	}
}
