package config

import (
	"slices"
	"strings"

	"github.com/berthd/berth/cmd/berth/frame"
)

// helpGroup is a group of settings in the help. A name that ends with a dash stands for all settings that begin with it.
type helpGroup struct {
	title string
	names []string
}

// helpGroups are all groups. A setting belongs to the group that has its whole name, else to the first one that names it.
var helpGroups = []helpGroup{
	{"Configuration files", []string{"config-"}},
	{"Listen", []string{"listen", "base-path", "socket-", "tls-", "proxy-headers", "trusted-proxies", "cors-", "shutdown-delay", "drain-timeout"}},
	{"Database", []string{"database-url", "database-url-file", "direct-database-url", "db-", "data-dir", "embedded-", "migrate", "migrate-", "instance", "replica-"}},
	{"Authentication", []string{"auth", "allow-insecure-", "allowed-hosts", "tokens-", "keystone-", "oidc-"}},
	{"Console", []string{"console", "console-", "aggregate-names", "shapes", "db-check-result"}},
	{"Policy", []string{"policy-", "enforce-"}},
	{"Limits", []string{"max-", "min-body-rate", "request-timeout", "queue-timeout", "write-", "spool-", "allocation-candidates-max-combinations"}},
	{"Claims, candidates and explanations", []string{"allocation-", "randomize-", "explain-", "idempotency-", "lease-", "incomplete-"}},
	{"Streams of events", []string{"events-"}},
	{"Logs, metrics and traces", []string{"log-", "access-log", "audit-", "slow-query-threshold", "metrics-", "admin-", "public-metrics", "readiness-", "trace-"}},
	{"Bare metal", []string{"baremetal-"}},
}

// firstSettings are those that a new user needs; --help describes them alone.
var firstSettings = []string{
	"config-file", "listen", "tls-cert", "tls-key", "auth", "keystone-auth-url", "policy-file", "database-url", "data-dir", "log-level",
}

func helpGroupTitles() []string {
	var titles []string
	for _, group := range helpGroups {
		titles = append(titles, group.title)
	}
	return titles
}

// groupOf returns the title of a setting's group.
func groupOf(setting string) string {
	for _, group := range helpGroups {
		if slices.Contains(group.names, setting) {
			return group.title
		}
	}
	for _, group := range helpGroups {
		for _, name := range group.names {
			if strings.HasSuffix(name, "-") && strings.HasPrefix(setting, name) {
				return group.title
			}
		}
	}
	return ""
}

// helpAnnotations returns the annotations of the flag of a setting.
func helpAnnotations(setting string) map[string][]string {
	annotations := map[string][]string{frame.FlagGroup: {groupOf(setting)}}
	if slices.Contains(firstSettings, setting) {
		annotations[frame.FlagFirst] = []string{"true"}
	}
	return annotations
}
