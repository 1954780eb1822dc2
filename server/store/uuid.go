package store

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"
)

// registerUUID teaches a connection's types to read and write uuid.UUID as the 16
// bytes that it is. pgxuuid does so for writing. For reading, pgx finds that the
// type can be scanned from a string by database/sql, and makes it one, for want of
// a codec that knows better.
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
