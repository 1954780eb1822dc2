// Package draw makes pictures of provider trees, and of what differs between two
// states of them: text for terminals, SVG for pages, DOT for Graphviz, and JSON
// for programs.
//
// Names, traits and classes come from the network. Whatever they hold, a picture
// has no control characters, escape sequences or markup but its own.
//
// It is not for reading anything from a service, nor for deciding what should
// differ: it draws what it is given. Commands find out whether there is a
// terminal, and how wide it is.
//
// # The JSON of a forest
//
// Scripts read it, so members are only ever added:
//
//	{"trees": [{
//	  "uuid": "…", "name": "compute-17",
//	  "parent_provider_uuid": null,
//	  "generation": 12,              // null: not known to the service yet
//	  "inventories": {"VCPU": {
//	    "total": 32, "reserved": 2, "min_unit": 1, "max_unit": 32,
//	    "step_size": 1, "allocation_ratio": 4.0,
//	    "capacity": 120,             // (total - reserved) * allocation_ratio
//	    "used": 12                   // left out where usages are not known
//	  }},
//	  "traits": ["…"], "aggregates": ["…"],
//	  "children": [{…}]              // of the same shape
//	}]}
//
// A member of an inventory record that is left to the service is left out.
//
// # The JSON of a difference
//
//	{"providers": [{
//	  "change": "changed",           // or "added", "removed"
//	  "uuid": "…", "name": "…", "parent_provider_uuid": null,
//	  "previous": {"name": "…", "parent_provider_uuid": "…"},  // if renamed or moved
//	  "inventories": [{
//	    "resource_class": "VCPU", "change": "changed",    // or "added", "removed"
//	    "fields": [{"field": "total", "from": 32, "to": 64}]
//	  }],
//	  "traits":     {"added": ["…"], "removed": []},
//	  "aggregates": {"added": [],    "removed": ["…"]}
//	}],
//	"moves": [{
//	  "consumer_uuid": "…", "consumer_type": "INSTANCE",
//	  "resource_class": "VGPU", "amount": 1,
//	  "from_provider_uuid": "…",     // null: claimed in addition
//	  "to_provider_uuid": "…",       // null: given up
//	  "to_resource_class": "PCPU"              // if it is of another class afterwards
//	}]}
//
// Both lists are empty when nothing differs.
package draw
