package oidc

import (
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/identity/auth"
)

// stats counts token validations and fetches by result.
type stats struct {
	valid, invalid, denied, unavailable atomic.Int64
	fetched, fetchFailed                atomic.Int64
}

// count counts a failed validation.
func (s *stats) count(err error) {
	var (
		invalid *auth.UnauthenticatedError
		denied  *auth.DeniedError
	)
	switch {
	case errors.As(err, &invalid):
		s.invalid.Add(1)
	case errors.As(err, &denied):
		s.denied.Add(1)
	default:
		s.unavailable.Add(1)
	}
}

// Validations returns the number of token validations by result: "valid"; "invalid", which is a 401;
// "claim_missing", a 403; "unavailable", a 503 because the issuer's keys could not be fetched.
func (a *Authenticator) Validations() map[string]int64 {
	return map[string]int64{
		"valid": a.stats.valid.Load(), "invalid": a.stats.invalid.Load(),
		"claim_missing": a.stats.denied.Load(), "unavailable": a.stats.unavailable.Load(),
	}
}

// Fetches returns the number of fetches of the issuer's keys by result: "success" or "error".
func (a *Authenticator) Fetches() map[string]int64 {
	return map[string]int64{"success": a.stats.fetched.Load(), "error": a.stats.fetchFailed.Load()}
}

// Keys returns the number of keys of the issuer that Berth has, and the age of the last successful fetch in
// seconds; 0 and 0 before the first.
func (a *Authenticator) Keys() (number int, age float64) {
	held := a.keys.current()
	if held.fetched.IsZero() {
		return 0, 0
	}
	return len(held.keys), a.now().Sub(held.fetched).Seconds()
}

var (
	validations = prometheus.NewDesc("berth_oidc_token_validations_total",
		"Number of requests by the result of the validation of their token: valid, invalid (401), claim_missing (403), or unavailable (503).", []string{"result"}, nil)
	fetches = prometheus.NewDesc("berth_oidc_key_fetches_total",
		"Number of fetches of the issuer's keys by result: success or error.", []string{"result"}, nil)
	keyNumber = prometheus.NewDesc("berth_oidc_keys",
		"Number of usable keys of the issuer.", nil, nil)
	keyAge = prometheus.NewDesc("berth_oidc_keys_age_seconds",
		"Time since the last successful fetch of the issuer's keys, in seconds; 0 before the first.", nil, nil)
)

// Describe implements prometheus.Collector.
func (a *Authenticator) Describe(into chan<- *prometheus.Desc) {
	for _, each := range []*prometheus.Desc{validations, fetches, keyNumber, keyAge} {
		into <- each
	}
}

// Collect implements prometheus.Collector.
func (a *Authenticator) Collect(into chan<- prometheus.Metric) {
	for result, count := range a.Validations() {
		into <- prometheus.MustNewConstMetric(validations, prometheus.CounterValue, float64(count), result)
	}
	for result, count := range a.Fetches() {
		into <- prometheus.MustNewConstMetric(fetches, prometheus.CounterValue, float64(count), result)
	}
	number, age := a.Keys()
	into <- prometheus.MustNewConstMetric(keyNumber, prometheus.GaugeValue, float64(number))
	into <- prometheus.MustNewConstMetric(keyAge, prometheus.GaugeValue, age)
}
