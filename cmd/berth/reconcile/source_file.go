package reconcile

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/uuid"
)

// fileSource is a file with a consumer on each line.
type fileSource struct {
	path string
	// content is that of standard input, which can be read once; nil: the file is read each time.
	content []byte
}

// newFileSource returns the source for a path; "-" is standard input.
func newFileSource(path string, stdin io.Reader) (*fileSource, error) {
	source := &fileSource{path: path}
	if path != "-" {
		return source, nil
	}
	content, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("cannot read standard input: %w", err)
	}
	source.content = append([]byte{}, content...)
	return source, nil
}

func (s *fileSource) name() string { return "file:" + s.path }

// read parses the file. A line is a UUID, optionally a tab and the name of a host; "#" begins a comment.
func (s *fileSource) read(context.Context, *progressLine) (*knowledge, error) {
	content := s.content
	if content == nil {
		var err error
		if content, err = os.ReadFile(s.path); err != nil {
			return nil, fmt.Errorf("cannot read the source: %w", err)
		}
	}
	known := &knowledge{servers: map[uuid.UUID]server{}, hosts: map[string]uuid.UUID{}}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for number := 1; lines.Scan(); number++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := known.addLine(line); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", s.name(), number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name(), err)
	}
	known.notes = []string{"orphan-migration and empty-host: a file has neither migrations nor all hosts"}
	return known, nil
}

// addLine adds the consumer of a line. A consumer on several lines may be on each of their hosts.
func (k *knowledge) addLine(line string) error {
	text, host, _ := strings.Cut(line, "\t")
	id, err := uuid.Parse(strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("%q is not a UUID; write one UUID a line, and after a tab the name of its host", strings.TrimSpace(text))
	}
	host = strings.TrimSpace(host)
	known, isListed := k.servers[id]
	switch {
	case host == "":
		known.isSettled = false
	case !isListed:
		known.isSettled, known.home = true, host
	case host != known.home:
		known.alsoOn = append(known.alsoOn, host)
	}
	if host != "" {
		k.hosts[host] = uuid.Nil
	}
	k.servers[id] = known
	return nil
}

// absent reads the file again.
func (s *fileSource) absent(ctx context.Context, ids []uuid.UUID, progress *progressLine) (map[uuid.UUID]bool, error) {
	known, err := s.read(ctx, progress)
	if err != nil {
		return nil, err
	}
	return known.withoutServers(ids), nil
}

// withoutServers returns those of ids that are no servers.
func (k *knowledge) withoutServers(ids []uuid.UUID) map[uuid.UUID]bool {
	missing := map[uuid.UUID]bool{}
	for _, id := range ids {
		if _, exists := k.servers[id]; !exists {
			missing[id] = true
		}
	}
	return missing
}
