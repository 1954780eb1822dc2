// Package deploycheck has the tests of the files in docs/deploy that other programs read: Compose, Kustomize, Kubernetes,
// Prometheus and Grafana. It reads them with the libraries of these programs, which are no dependencies of Berth.
//
// It is not for the image itself and for the units of systemd: their tests are in e2e.
package deploycheck
