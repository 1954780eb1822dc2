package config

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
)

// replicaSettings holds the settings of streaming replicas.
type replicaSettings struct {
	ReplicaURLs []string
	ReplicaWait time.Duration
}

func (s *replicaSettings) table() []setting.Setting {
	return []setting.Setting{
		{Name: "replica-url", Fallback: "", Scope: ForServer, Value: connections(&s.ReplicaURLs),
			Help: "comma-separated connection `URLs` of streaming replicas, each of which may name several hosts. Berth reads allocation candidates and " +
				"long lists from a replica that has replayed all writes acknowledged before the request, else from the primary"},
		{Name: "replica-wait-timeout", Fallback: "20ms", Scope: ForServer, Value: setting.Duration(&s.ReplicaWait, 0, 10*time.Second),
			Help: "maximum `time` that a read waits for a lagging replica before it uses the primary"},
	}
}

// connections returns a reader of comma-separated URLs. Hosts are separated by commas too, so a
// new URL begins at each scheme; in key=value form there can be only one.
func connections(field *[]string) setting.Reader {
	return setting.Reader{Kind: "URLs", Secret: true, Mask: maskPasswords, Read: func(text string) *frame.Rule {
		*field = nil
		for _, url := range splitURLs(text) {
			if _, err := pgx.ParseConfig(url); err != nil {
				return &frame.Rule{
					Broken: "contains an invalid connection string" + harmlessReason(url, err),
					Remedy: "write postgres://user:password@host:5432/name, with commas between several, and characters such as @ / : ? % , percent-encoded in the password",
				}
			}
			*field = append(*field, url)
		}
		return nil
	}}
}

// splitURLs splits a list before each PostgreSQL URL scheme.
func splitURLs(text string) []string {
	var urls []string
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		begins := strings.HasPrefix(part, "postgres://") || strings.HasPrefix(part, "postgresql://")
		switch {
		case part == "":
		case begins || len(urls) == 0:
			urls = append(urls, part)
		default:
			urls[len(urls)-1] += "," + part
		}
	}
	return urls
}

func maskPasswords(text string) string {
	urls := splitURLs(text)
	for i, url := range urls {
		urls[i] = MaskPassword(url)
	}
	return strings.Join(urls, ",")
}
