package postgres

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"
)

// registerUUID registers a codec that reads and writes uuid.UUID as its 16 bytes. pgxuuid does so for writing. For
// reading, without a better codec, pgx finds that database/sql can scan the type from a string, and converts it to one.
func registerUUID(types *pgtype.Map) {
	pgxuuid.Register(types)
	types.RegisterType(&pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}})
}

type uuidCodec struct{ pgxuuid.UUIDCodec }

// PlanScan implements pgtype.Codec.
func (c uuidCodec) PlanScan(types *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*uuid.UUID); ok && format == pgtype.BinaryFormatCode {
		return scanUUID{}
	}
	return c.UUIDCodec.PlanScan(types, oid, format, target)
}

type scanUUID struct{}

// Scan implements pgtype.ScanPlan.
func (scanUUID) Scan(source []byte, target any) error {
	read, err := uuid.FromBytes(source)
	*target.(*uuid.UUID) = read
	return err
}
