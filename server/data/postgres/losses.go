package postgres

import (
	"context"
	"log/slog"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/server/data/session"
)

// Settings reads the settings of PostgreSQL, on a connection for monitoring.
func (p *Pool) Settings(ctx context.Context) (read session.Settings, err error) {
	err = p.WithMonitorConn(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		read, err = session.Read(ctx, conn, p.pooled)
		return err
	})
	return read, err
}

// lossLog logs each loss once, until the setting has changed.
type lossLog struct {
	mutex  sync.Mutex
	logged map[session.Loss]bool
}

// LogLosses logs a warning for each setting with which PostgreSQL may lose acknowledged writes, unless the call before
// found it too.
func (p *Pool) LogLosses(ctx context.Context, log *slog.Logger, losses []session.Loss) {
	p.losses.mutex.Lock()
	defer p.losses.mutex.Unlock()
	now := map[session.Loss]bool{}
	for _, loss := range losses {
		now[loss] = true
		if !p.losses.logged[loss] {
			log.WarnContext(ctx, "PostgreSQL may lose acknowledged writes",
				"setting", loss.Setting, "value", loss.Value, "effect", loss.Effect, "remedy", loss.Remedy)
		}
	}
	p.losses.logged = now
}
