package baremetal

import (
	"context"
	"net/http"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/microversion"
)

// Discovery is the document from which clients learn the API and its versions. Its members, except for the first four,
// are the resources of the version.
type Discovery struct {
	ID         string     `json:"id" doc:"Name of the major version." example:"v1"`
	Links      []Link     `json:"links" doc:"Links to the API and its documentation."`
	MediaTypes MediaType  `json:"media_types" doc:"Media types of bodies."`
	Version    APIVersion `json:"version" doc:"Supported microversions."`
	Nodes      []Link     `json:"nodes" doc:"Links to the nodes."`
	Ports      []Link     `json:"ports" doc:"Links to the ports."`
	Drivers    []Link     `json:"drivers" doc:"Links to the drivers."`
	Conductors []Link     `json:"conductors" since:"49" doc:"Links to the conductors."`
	// Allocations is the last resource, because the order is that of the first versions.
	Allocations []Link `json:"allocations" since:"52" doc:"Links to the allocations."`
}

// MediaType is what the bodies of the API are.
type MediaType struct {
	Base string `json:"base" doc:"The general type." example:"application/json"`
	Type string `json:"type" doc:"The specific type." example:"application/vnd.openstack.ironic.v1+json"`
}

// APIVersion is the range of microversions.
type APIVersion struct {
	ID      string `json:"id" doc:"Name of the major version." example:"v1"`
	Links   []Link `json:"links" doc:"Links to the API."`
	Status  string `json:"status" doc:"Status of the version; always CURRENT." example:"CURRENT"`
	Min     string `json:"min_version" doc:"Oldest supported microversion." example:"1.1"`
	Version string `json:"version" doc:"Newest supported microversion." example:"1.82"`
}

var discoveryShape = newShape[Discovery]()

// documentation is the URL of ironic's API reference.
const documentation = "https://docs.openstack.org/api-ref/baremetal/"

func discoveryOperations() []*route.Operation {
	return []*route.Operation{{
		ID: "discovery", Method: http.MethodGet, Path: "/v1", Tag: tagDiscovery,
		Summary:     "Show the supported API versions",
		Description: "Requires no token.",
		Variants: []route.Variant{route.From(v(1), discover, route.Example(func(ctx context.Context) any {
			return discovery(ctx)
		}))},
	}}
}

func discover(ctx context.Context, _ *none) (*answer[view[Discovery]], error) {
	return &answer[view[Discovery]]{Body: discovery(ctx)}, nil
}

func discovery(ctx context.Context) view[Discovery] {
	// Clients resolve URLs relative to it, so it ends with a slash.
	self := Link{Href: url(ctx, "/v1/"), Rel: "self"}
	return discoveryShape.show(discoveryShape.all(ctx), &Discovery{
		ID:         "v1",
		Links:      []Link{self, {Href: documentation, Rel: "describedby", Type: "text/html"}},
		MediaTypes: MediaType{Base: "application/json", Type: "application/vnd.openstack.ironic.v1+json"},
		Version: APIVersion{
			ID: "v1", Links: []Link{self}, Status: "CURRENT",
			Min: microversion.BaremetalMin.String(), Version: microversion.BaremetalMax.String(),
		},
		Nodes: links(ctx, "nodes/"), Ports: links(ctx, "ports/"), Drivers: links(ctx, "drivers/"),
		Conductors: links(ctx, "conductors/"), Allocations: links(ctx, "allocations/"),
	})
}
