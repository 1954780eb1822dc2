package store

// Channels on which the SQL functions notify conductors of pending work; the payload is a UUID.
const (
	NodeChannel           = "berth_node_pending"
	NodeAllocationChannel = "berth_node_allocation_pending"
	// NodeAllocationDecidedChannel is for clients that wait for a node allocation; not for conductors.
	NodeAllocationDecidedChannel = "berth_node_allocation_decided"
)
