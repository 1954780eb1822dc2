package baremetal

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Driver is a hardware driver with the conductors that support it.
type Driver struct {
	Name  string   `json:"name"`
	Type  string   `json:"type"`
	Hosts []string `json:"hosts"`
}

// DriverList returns the drivers of the conductors that are alive, sorted by name.
func (c *Client) DriverList(ctx context.Context) ([]Driver, error) {
	answer := struct {
		Drivers []Driver `json:"drivers"`
	}{[]Driver{}}
	err := c.send(ctx, &answer, request{method: http.MethodGet, path: []string{"drivers"}})
	return answer.Drivers, err
}

// DriverShow returns a driver.
func (c *Client) DriverShow(ctx context.Context, name string) (found Driver, err error) {
	return found, c.send(ctx, &found, request{method: http.MethodGet, path: []string{"drivers", name}})
}

// DriverProperties returns the properties that a driver reads from the driver_info of a node, with their descriptions.
func (c *Client) DriverProperties(ctx context.Context, name string) (found map[string]string, err error) {
	return found, c.send(ctx, &found, request{method: http.MethodGet, path: []string{"drivers", name, "properties"}})
}

// Conductor is a process that processes node allocations and drives nodes.
type Conductor struct {
	Hostname  string     `json:"hostname"`
	Group     string     `json:"conductor_group"`
	Alive     bool       `json:"alive"`
	Drivers   []string   `json:"drivers"`
	CreatedAt *time.Time `json:"created_at"`
	UpdatedAt *time.Time `json:"updated_at"`
}

// ConductorList returns all conductors, also those that are not alive.
func (c *Client) ConductorList(ctx context.Context) ([]Conductor, error) {
	query := url.Values{"detail": {"true"}}
	return pages(ctx, c, request{method: http.MethodGet, path: []string{"conductors"}, query: query}, "conductors", 0,
		func(conductor Conductor) string { return conductor.Hostname })
}

// ConductorShow returns a conductor.
func (c *Client) ConductorShow(ctx context.Context, hostname string) (found Conductor, err error) {
	return found, c.send(ctx, &found, request{method: http.MethodGet, path: []string{"conductors", hostname}})
}
