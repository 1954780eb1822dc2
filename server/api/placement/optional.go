package placement

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/wire/uuidlike"
)

// optionalUUID distinguishes an omitted UUID from null, which encoding/json does not.
type optionalUUID struct {
	Sent  bool
	Value *uuid.UUID
}

// UnmarshalJSON implements json.Unmarshaler. encoding/json calls it only for a member that was sent.
func (u *optionalUUID) UnmarshalJSON(raw []byte) error {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	u.Sent = true
	if text != nil {
		id, _ := uuidlike.Parse(*text)
		u.Value = &id
	}
	return nil
}

// Schema implements huma.SchemaProvider.
func (optionalUUID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid", Nullable: true}
}
