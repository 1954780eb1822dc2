package baremetal

import (
	"context"
	"net/http"

	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/route"
)

// Discovery is the document that clients find the API and its versions by. Its
// members, but for the first four, are the resources that the version has.
type Discovery struct {
	ID         string     `json:"id" doc:"Name of the major version." example:"v1"`
	Links      []Link     `json:"links" doc:"Where the API and its documentation are."`
	MediaTypes MediaType  `json:"media_types" doc:"What bodies are."`
	Version    APIVersion `json:"version" doc:"The microversions that the server speaks."`
	Nodes      []Link     `json:"nodes" doc:"Where nodes are."`
	Ports      []Link     `json:"ports" doc:"Where ports are."`
	Drivers    []Link     `json:"drivers" doc:"Where drivers are."`
	Conductors []Link     `json:"conductors" since:"49" doc:"Where conductors are."`
	// Allocations is last of the resources, which is the order of their versions.
	Allocations []Link `json:"allocations" since:"52" doc:"Where allocations are."`
}

// MediaType is what the bodies of the API are.
type MediaType struct {
	Base string `json:"base" doc:"The general type." example:"application/json"`
	Type string `json:"type" doc:"The specific type." example:"application/vnd.openstack.ironic.v1+json"`
}

// APIVersion is the range of microversions.
type APIVersion struct {
	ID      string `json:"id" doc:"Name of the major version." example:"v1"`
	Links   []Link `json:"links" doc:"Where the API is."`
	Status  string `json:"status" doc:"CURRENT: this is the version to use." example:"CURRENT"`
	Min     string `json:"min_version" doc:"Oldest supported microversion." example:"1.1"`
	Version string `json:"version" doc:"Newest supported microversion." example:"1.82"`
}

var discoveryShape = newShape[Discovery]()

// documentation is where the original of this API is described.
const documentation = "https://docs.openstack.org/api-ref/baremetal/"

func discoveryOperations() []*route.Operation {
	return []*route.Operation{{
		ID: "discovery", Method: http.MethodGet, Path: "/v1", Tag: tagDiscovery,
		Summary:     "Show what the server speaks",
		Description: "Needs no token.",
		Variants: []route.Variant{route.From(v(1), discover, route.Example(func(ctx context.Context) any {
			return discovery(ctx)
		}))},
	}}
}

func discover(ctx context.Context, _ *none) (*answer[view[Discovery]], error) {
	return &answer[view[Discovery]]{Body: discovery(ctx)}, nil
}

func discovery(ctx context.Context) view[Discovery] {
	// Clients resolve it, so it ends with a slash.
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
