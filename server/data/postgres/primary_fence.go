package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/gen/db"
)

// primaryFence rejects connections to a former primary. A primary that was paused during the promotion of a standby
// still acts as the primary when it resumes, until its cluster manager demotes it: it accepts connections and returns
// outdated rows. Each promotion begins a new timeline. So a primary on an older timeline than one that this process has
// seen is a former one. The zero value knows no timeline.
type primaryFence struct {
	mutex sync.Mutex
	// system identifies the database cluster; timelines of two clusters do not compare.
	system string
	// newest is the name of the newest timeline of all connections: hexadecimal digits of a fixed number, so that names
	// compare like numbers.
	newest string
}

// admit returns an error when the connection leads to a former primary. changed is true when it leads to a newer
// primary than the connections before it. It admits a server that does not report its timeline, such as a standby or
// one that denies the function.
func (f *primaryFence) admit(ctx context.Context, conn *pgconn.PgConn) (changed bool, err error) {
	result := conn.ExecParams(ctx, db.PrimaryTimeline, nil, nil, nil, nil).Read()
	if _, reported := errors.AsType[*pgconn.PgError](result.Err); reported {
		return false, nil
	}
	if result.Err != nil || len(result.Rows) == 0 {
		return false, result.Err
	}
	return f.meet(string(result.Rows[0][0]), string(result.Rows[0][1]))
}

// meet records the primary of a connection.
func (f *primaryFence) meet(system, timeline string) (changed bool, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	known := f.newest
	if f.system == system && timeline < known {
		return false, fmt.Errorf("the server is a former primary: its timeline is %s, and this process has used a primary on timeline %s; "+
			"stop it, or restart this process if that timeline was abandoned", timeline, known)
	}
	changed = known != "" && (f.system != system || timeline > known)
	f.system, f.newest = system, timeline
	return changed, nil
}

// fenced adds the fence to a check of new connections. When the primary has changed, the
// other connections of the pool lead to the former one: idle ones are closed, and those
// in use when they are released.
func (p *Pool) fenced(validate pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		if validate != nil {
			if err := validate(ctx, conn); err != nil {
				return err
			}
		}
		changed, err := p.fence.admit(ctx, conn)
		if changed {
			p.pool.Reset()
			for _, side := range p.sidePools() {
				side.reset()
			}
		}
		return err
	}
}
