package server_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/identity/oidc"
)

// oidcOf returns the collector of an issuer that receives no requests.
func oidcOf(t *testing.T) *oidc.Authenticator {
	t.Helper()
	made, err := oidc.New(oidc.Options{
		Issuer: "https://issuer.example.org", Audiences: []string{"berth"}, Algorithms: []string{"RS256"}, TokenTypes: []string{oidc.TypeJWT},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// collectors is the collectors of several authentication methods.
type collectors []prometheus.Collector

// Describe implements prometheus.Collector.
func (c collectors) Describe(into chan<- *prometheus.Desc) {
	for _, each := range c {
		each.Describe(into)
	}
}

// Collect implements prometheus.Collector.
func (c collectors) Collect(into chan<- prometheus.Metric) {
	for _, each := range c {
		each.Collect(into)
	}
}
