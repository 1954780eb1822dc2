// Package draw renders provider trees, and the difference between two states of them. It writes text for terminals, SVG
// for web pages, DOT for Graphviz, and JSON for programs.
//
// Names, traits and classes come from the network. The package escapes them, so that its output contains no control
// characters, escape sequences or markup except its own.
//
// For the web console it writes SVG fragments: bars, lines of trees, maps and state diagrams with classes and without a
// style element.
//
// It is not for reading from a server, nor for computing the changes of a reshape. Commands detect the terminal and its
// width.
//
// # The JSON of a forest
//
// Scripts read this document, so its members are neither renamed nor removed:
//
//	{"trees": [{
//	  "uuid": "…", "name": "compute-17",
//	  "parent_provider_uuid": null,
//	  "generation": 12,              // null: the provider is not created yet
//	  "inventories": {"VCPU": {
//	    "total": 32, "reserved": 2, "min_unit": 1, "max_unit": 32,
//	    "step_size": 1, "allocation_ratio": 4.0,
//	    "capacity": 120,             // (total - reserved) * allocation_ratio
//	    "used": 12                   // omitted if usages are unknown
//	  }},
//	  "traits": ["…"], "aggregates": ["…"],
//	  "children": [{…}],             // with the same members
//	  "consumers": [{                // of roots only; omitted if they were not read
//	    "uuid": "…", "consumer_type": "INSTANCE", "project_id": "…", "user_id": "…",
//	    "consumer_generation": 1,
//	    "lease": {…},                // omitted without one
//	    "sharing_only": false,       // true: it uses only sharing providers of other trees
//	    "allocations": {"…": {       // by provider, also of other trees
//	      "name": "compute-17",      // omitted if unknown
//	      "resources": {"VCPU": 8}
//	    }}
//	  }]
//	}]}
//
// A field of an inventory that is not set, and has its default, is omitted.
//
// # The JSON of a difference
//
//	{"providers": [{
//	  "change": "changed",           // or "added", "removed"
//	  "uuid": "…", "name": "…", "parent_provider_uuid": null,
//	  "previous": {"name": "…", "parent_provider_uuid": "…"},  // if renamed or re-parented
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
//	  "from_provider_uuid": "…",     // null: the allocation is added
//	  "to_provider_uuid": "…",       // null: the allocation is removed
//	  "to_resource_class": "PCPU"    // if the class changes
//	}],
//	"consumers": [{                  // omitted if empty
//	  "consumer_uuid": "…",
//	  "fields": [{"field": "project", "from": "…", "to": "…"}]    // or "user", "type"
//	}],
//	"names": [{                      // omitted if empty
//	  "change": "added",             // or "removed"
//	  "kind": "trait",               // or "resource class"
//	  "name": "CUSTOM_…"
//	}]}
//
// The first two lists are empty if there are no differences.
package draw
