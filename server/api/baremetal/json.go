package baremetal

import (
	"context"
	"encoding/json"
	"regexp"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/request"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// Time is encoded with microseconds and with its offset, because some clients cannot parse it without.
type Time time.Time

const timeFormat = "2006-01-02T15:04:05.000000-07:00"

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time(t).UTC().Format(timeFormat))
}

// Schema implements huma.SchemaProvider.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Examples: []any{"2026-11-20T15:08:01.836794+00:00"}}
}

// maybe converts a time that may be nil.
func maybe(at *time.Time) *Time { return (*Time)(at) }

// Link is a link to a resource.
type Link struct {
	Href string `json:"href" doc:"URL of the linked resource." example:"http://baremetal.example.org/v1/nodes/c0ffee00-5ca1-4b1e-8000-000000000001"`
	Rel  string `json:"rel" doc:"Relation of the linked resource." example:"self"`
	Type string `json:"type,omitempty" doc:"Media type if it is not JSON." example:"text/html"`
}

// url returns the absolute URL of a path such as "/v1/nodes".
func url(ctx context.Context, path string) string {
	info := request.From(ctx)
	return info.Base + info.Prefix + path
}

// links returns the links of a resource: itself, and a bookmark link that old clients expect.
func links(ctx context.Context, path string) []Link {
	return []Link{{Href: url(ctx, "/v1/"+path), Rel: "self"}, {Href: url(ctx, "/"+path), Rel: "bookmark"}}
}

// namePattern is the pattern of node and allocation names, also for the tag pattern.
const namePattern = `^[A-Za-z0-9-._~]+$`

var nameForm = regexp.MustCompile(namePattern)

const maxName = 255

// ident parses the identifier of a resource in a path or a filter. It returns a UUID in its canonical form, or a name.
// A name cannot have the form of a UUID.
func ident(sent string) (string, error) {
	if id, ok := asUUID(sent); ok {
		return id.String(), nil
	}
	if len(sent) <= maxName && nameForm.MatchString(sent) {
		return sent, nil
	}
	return "", fault.New(fault.Invalid, "Expected a logical name or UUID but received %s.", sent)
}

func asUUID(sent string) (uuid.UUID, bool) { return uuidlike.Parse(sent) }
