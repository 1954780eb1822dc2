package postgres

import (
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

// TestConnLoss_ReadPanics_ConnectionReleased has more reads panic, in and outside of a transaction, than the pool has
// connections.
func TestConnLoss_ReadPanics_ConnectionReleased(t *testing.T) {
	t.Parallel()
	const connections = 2
	s, err := Open(t.Context(), Options{URL: dbtest.New(t).URL, MaxConns: connections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for _, statement := range []string{"SELECT 1", "BEGIN"} {
		for range connections + 2 {
			func() {
				defer func() {
					if value := recover(); value != "broken" {
						t.Errorf("panic = %v, want broken", value)
					}
				}()
				_, _ = OnReplicaOrPrimary(t.Context(), s, func(conn *Conn) (int, error) {
					if _, err := conn.Exec(t.Context(), statement); err != nil {
						t.Error(err)
					}
					panic("broken")
				})
			}()
		}
	}
	one, err := OnPrimary(t.Context(), s, func(conn *Conn) (one int, err error) {
		defer conn.Release()
		err = conn.QueryRow(t.Context(), "SELECT 1").Scan(&one)
		return one, err
	})
	if err != nil || one != 1 || s.pool.Stat().AcquiredConns() != 0 {
		t.Errorf("read = %d, %v, %d acquired connections; want 1, and none acquired", one, err, s.pool.Stat().AcquiredConns())
	}
}
