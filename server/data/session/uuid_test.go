package session_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/session"
)

// uuidColumns are a UUID, its absence, and lists, in the types that the store uses.
type uuidColumns struct {
	ID, Pointer *uuid.UUID
	None        *uuid.UUID
	List, Empty []uuid.UUID
}

func TestSettings_UUIDs_SurviveEveryProtocol(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	id, other := uuid.New(), uuid.New()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			conn, err := pgx.Connect(t.Context(), db.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			session.RegisterUUID(conn.TypeMap())
			conn.TypeMap().RegisterDefaultPgType([]uuid.UUID{}, "_uuid")
			var got uuidColumns
			if err := conn.QueryRow(t.Context(), "SELECT $1::uuid, $2::uuid, $3::uuid, $4::uuid[], $5::uuid[]", mode,
				id, &other, (*uuid.UUID)(nil), []uuid.UUID{id, other}, []uuid.UUID{}).
				Scan(&got.ID, &got.Pointer, &got.None, &got.List, &got.Empty); err != nil {
				t.Fatal(err)
			}
			if *got.ID != id || *got.Pointer != other || got.None != nil || len(got.List) != 2 || got.List[0] != id || got.List[1] != other || len(got.Empty) != 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}
