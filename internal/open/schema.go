package open

import "github.com/berthd/berth/server/migrate"

// States of a database schema relative to this berth.
const (
	upToDate           = "up to date"
	Outdated           = "outdated"
	Newer              = "newer"
	OpenstackPlacement = "openstack_placement"
)

// SchemaState returns one of the states above.
func SchemaState(status migrate.Status) string {
	switch {
	case status.Foreign:
		return OpenstackPlacement
	case status.Newer():
		return Newer
	case status.UpToDate():
		return upToDate
	default:
		return Outdated
	}
}
