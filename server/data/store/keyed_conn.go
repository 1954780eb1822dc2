package store

import (
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// keyed returns a db.DBTX that executes each statement after idempotency_begin, in the same transaction and round trip.
func keyed(to *postgres.Primary, key *IdempotencyKey) db.DBTX {
	begin := func(batch *pgx.Batch) {
		batch.Queue(db.IdempotencyBegin, key.Caller, key.Key, key.Fingerprint[:], key.Request, int32(key.Status),
			key.At, key.Lifetime.Seconds())
	}
	return to.After(begin, func(err error) error {
		if postgres.LockTimedOut(err) {
			return errKeyWait
		}
		return err
	})
}
