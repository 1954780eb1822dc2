package reconcile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/command"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/servertest"
)

// cloud is a server with hosts, and the directory for files of a test.
type cloud struct {
	t         *testing.T
	server    *servertest.Server
	url       string
	client    *client.Client
	directory string
	// novaURL is the Compute API of --with nova; empty: none.
	novaURL string
	// environ are further variables of the commands.
	environ []string
	// signals interrupt commands; nil: none.
	signals chan os.Signal
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	server := servertest.New(t, servertest.Options{})
	url := server.Listen(t).URL
	service, err := client.New(url)
	if err != nil {
		t.Fatal(err)
	}
	return &cloud{t: t, server: server, url: url, client: service, directory: t.TempDir()}
}

// id returns the UUID of an instance, migration or host by its number.
func id(number int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("c0ffee00-0000-4000-8000-%012d", number))
}

// small has the amounts of most instances of these tests.
var small = client.Resources{"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 20}

// host creates a provider with 16 CPUs.
func (c *cloud) host(name string, number int) uuid.UUID {
	c.t.Helper()
	provider, err := c.client.ProviderCreate(c.t.Context(), name, id(number), uuid.Nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.inventories(provider.UUID, client.Resources{"VCPU": 16, "MEMORY_MB": 32768, "DISK_GB": 1000})
	return provider.UUID
}

func (c *cloud) inventories(provider uuid.UUID, totals client.Resources) {
	c.t.Helper()
	shown, err := c.client.ProviderShow(c.t.Context(), provider)
	if err != nil {
		c.t.Fatal(err)
	}
	inventories := client.Inventories{}
	for class, total := range totals {
		inventories[class] = client.InventoryRecord{Total: int32(total)}
	}
	if _, _, err := c.client.InventoryReplace(c.t.Context(), provider, shown.Generation, inventories); err != nil {
		c.t.Fatal(err)
	}
}

// claim sets the allocations of a new consumer.
func (c *cloud) claim(consumer uuid.UUID, kind string, allocations map[uuid.UUID]client.Resources) {
	c.t.Helper()
	wanted := &client.Consumer{Allocations: allocations, ProjectID: "web", UserID: "ada", Type: kind}
	if err := c.client.AllocationReplace(c.t.Context(), consumer, wanted, nil); err != nil {
		c.t.Fatal(err)
	}
}

// allocations returns what a consumer has, as text.
func (c *cloud) allocations(consumer uuid.UUID) string {
	c.t.Helper()
	record, err := c.client.AllocationList(c.t.Context(), consumer)
	if err != nil {
		c.t.Fatal(err)
	}
	return textOf(record.Allocations)
}

func textOf(allocations map[uuid.UUID]client.Resources) string {
	text, _ := json.Marshal(allocations)
	return string(text)
}

// file writes a file and returns its path.
func (c *cloud) file(name, content string) string {
	c.t.Helper()
	path := filepath.Join(c.directory, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

func (c *cloud) path(name string) string { return filepath.Join(c.directory, name) }

// ran is the result of a command.
type ran struct {
	code           int
	stdout, stderr string
}

// reconcile runs a comparison of everything, whatever its age, with two readings unless the arguments change that.
func (c *cloud) reconcile(arguments ...string) ran {
	line := []string{"reconcile", "--min-age", "0", "--settle", "1ms"}
	if c.novaURL != "" {
		line = append(line, "--nova-url", c.novaURL)
	}
	return c.run(append(line, arguments...)...)
}

func (c *cloud) run(arguments ...string) ran {
	var stdout, stderr bytes.Buffer
	host := frame.Frame{Environ: append([]string{"BERTH_URL=" + c.url}, c.environ...), Stdout: &stdout, Stderr: &stderr, Signals: func() (<-chan os.Signal, func()) {
		return c.signals, func() {}
	}}
	code := command.Run(c.t.Context(), &host, arguments)
	return ran{code, stdout.String(), stderr.String()}
}

// findings returns the findings of a comparison as "kind consumer host", where the consumer is its number.
func (c *cloud) findings(arguments ...string) []string {
	c.t.Helper()
	got := c.reconcile(append(arguments, "--output", "json")...)
	if got.code != frame.ExitOK && got.code != 3 {
		c.t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	var document struct {
		Findings []struct {
			Finding  string
			Consumer string `json:"consumer_uuid"`
			Host     string
			Outcome  string
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &document); err != nil {
		c.t.Fatalf("%v: %s", err, got.stdout)
	}
	found := []string{}
	for _, finding := range document.Findings {
		number := strings.TrimLeft(finding.Consumer[max(0, len(finding.Consumer)-12):], "0")
		found = append(found, strings.Join(strings.Fields(finding.Finding+" "+number+" "+finding.Host+" "+finding.Outcome), " "))
	}
	return found
}

// expect fails the test if a comparison has other findings.
func (c *cloud) expect(want []string, arguments ...string) {
	c.t.Helper()
	if got := c.findings(arguments...); !slices.Equal(got, want) {
		c.t.Errorf("findings = %q, want %q", got, want)
	}
}
