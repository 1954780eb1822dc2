package main

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// scaleSettings are for more than one machine.
type scaleSettings struct {
	ReplicaURLs []string
	ReplicaWait time.Duration
}

func (s *scaleSettings) table() []setting {
	return []setting{
		{name: "replica-url", fallback: "", scope: forServer, value: connections(&s.ReplicaURLs),
			help: "comma separated `URLs` of streaming replicas of the database, each of which may name several hosts. Allocation candidates and " +
				"long lists are read from one that has replayed all that was written before the request, else from the primary"},
		{name: "replica-wait", fallback: "20ms", scope: forServer, value: duration(&s.ReplicaWait, 0, 10*time.Second),
			help: "`time` that a read waits for a replica that is behind before the primary is asked"},
	}
}

// connections are URLs with commas between them. Hosts are separated by commas too, so
// a new URL begins where a scheme does; key=value pairs can only be one.
func connections(field *[]string) reader {
	return reader{kind: "URLs", secret: true, mask: maskPasswords, read: func(text string) *rule {
		*field = nil
		for _, one := range splitURLs(text) {
			if _, err := pgx.ParseConfig(one); err != nil {
				return &rule{
					"holds what is not a connection string" + harmlessReason(one, err),
					"write postgres://user:password@host:5432/name, with commas between several, and characters such as @ / : ? % , percent-encoded in the password",
				}
			}
			*field = append(*field, one)
		}
		return nil
	}}
}

// splitURLs cuts a list before each scheme of PostgreSQL.
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
	for i, one := range urls {
		urls[i] = maskPassword(one)
	}
	return strings.Join(urls, ",")
}
