package consumers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// DefaultPattern matches the control groups of systemd-machined machines with the UUID of the consumer in their name.
const DefaultPattern = "machine.slice/*{uuid}*"

// Cgroup is a source that reads the NUMA nodes of the processes of a consumer from the kernel. The processes are those in
// the control groups of the consumer, of version 1 or 2. Without control groups, they are the processes with -uuid and
// the UUID of the consumer on their command line, such as QEMU.
//
// It divides CPUs (VCPU, PCPU) in proportion to the CPU affinity of the threads, and memory (MEMORY_MB and
// CUSTOM_MEMORY_HUGEPAGES_ of every size) in proportion to the pages. If the affinity includes all CPUs, it divides CPUs
// like memory. A consumer without limits of CPUs and memory is unknown. Shares have no other classes.
type Cgroup struct {
	root, pattern string

	mutex sync.Mutex
	// started maps the UUID on the command line to processes; nil until the first use in an attempt.
	started map[uuid.UUID][]int
}

// NewCgroup returns a Cgroup for a root of the file system (/ except in tests) and a pattern. The pattern has the form of
// path/filepath.Match, is relative to the mount point of control groups, and contains {uuid} in place of the UUID of the
// consumer. It also matches the UUID with systemd's escapes (\x2d for the hyphen), with underscores, and without
// hyphens. An empty pattern is DefaultPattern. NewCgroup returns an error if the pattern is invalid.
func NewCgroup(root, pattern string) (*Cgroup, error) {
	if pattern == "" {
		pattern = DefaultPattern
	}
	if !strings.Contains(pattern, "{uuid}") {
		return nil, fmt.Errorf("the pattern %q has no {uuid}, so it would match the same processes for every consumer", pattern)
	}
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("invalid pattern %q: %w; see glob(7)", pattern, err)
	}
	return &Cgroup{root: root, pattern: pattern}, nil
}

// Begin implements Attempt: the next call of Shares reads the processes again.
func (c *Cgroup) Begin() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.started = nil
}

// Shares implements Source.
func (c *Cgroup) Shares(ctx context.Context, consumer uuid.UUID, have client.Resources) ([]Share, bool, error) {
	groups := c.groups(consumer)
	pids, err := processes(groups)
	if err != nil {
		return nil, false, err
	}
	if len(groups) == 0 {
		pids = c.processesOf(consumer)
	}
	if len(groups)+len(pids) == 0 {
		return nil, false, nil
	}
	nodes, err := readTopology(c.root)
	if err != nil {
		return nil, false, err
	}
	evidence := &evidence{root: c.root, nodes: nodes}
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		evidence.addProcess(pid)
	}
	if len(pids) == 0 {
		evidence.addGroups(groups)
	}
	cpus, memory := evidence.weights()
	parts := map[string]client.Resources{}
	for class, amount := range have {
		var weights map[int]float64
		switch {
		case class == "VCPU" || class == "PCPU":
			weights = cpus
		case class == "MEMORY_MB" || strings.HasPrefix(class, "CUSTOM_MEMORY_HUGEPAGES_"):
			weights = memory
		}
		for node, part := range proportion(amount, weights) {
			add(parts, "numa:"+strconv.Itoa(node), class, part)
		}
	}
	shares := sorted(parts)
	return shares, len(shares) > 0, nil
}

// groups returns the directories of the consumer's control groups: below the mount point of version 2, or below those of
// version 1 for cpuset, systemd and unified.
func (c *Cgroup) groups(consumer uuid.UUID) []string {
	id := consumer.String()
	mounted := filepath.Join(c.root, "sys/fs/cgroup")
	for _, written := range []string{
		// In a pattern, a backslash is escaped by another one.
		id, strings.ReplaceAll(id, "-", `\\x2d`), strings.ReplaceAll(id, "-", "_"), strings.ReplaceAll(id, "-", ""),
	} {
		pattern := strings.ReplaceAll(c.pattern, "{uuid}", written)
		for _, below := range []string{"", "cpuset", "systemd", "unified"} {
			// NewCgroup has validated the pattern, and Glob has no other error.
			if found, _ := filepath.Glob(filepath.Join(mounted, below, pattern)); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// processes returns the processes of control groups and their descendants, without duplicates.
func processes(groups []string) ([]int, error) {
	seen := map[int]bool{}
	for _, group := range groups {
		err := filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed meanwhile
			}
			if err != nil || entry.Name() != "cgroup.procs" {
				return err
			}
			content, err := os.ReadFile(path)
			switch {
			// The kernel lists the processes of a threaded group in its parent only.
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.EOPNOTSUPP):
				return nil
			case err != nil:
				return err
			}
			for word := range strings.FieldsSeq(string(content)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					return fmt.Errorf("%s: %q is not a process ID", path, word)
				}
				// 0 means a process of another PID namespace.
				if pid > 0 {
					seen[pid] = true
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("cannot list the processes of a control group: %w", err)
		}
	}
	return sortedInts(seen), nil
}

// processesOf returns the processes with -uuid and the UUID of the consumer on their command line.
func (c *Cgroup) processesOf(consumer uuid.UUID) []int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.started == nil {
		c.started = map[uuid.UUID][]int{}
		// The pattern is valid, and Glob has no other error.
		lines, _ := filepath.Glob(filepath.Join(c.root, "proc/[0-9]*/cmdline"))
		for _, path := range lines {
			content, err := os.ReadFile(path)
			if err != nil {
				continue // the process ended meanwhile
			}
			if id, found := uuidArgument(content); found {
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				if err == nil {
					c.started[id] = append(c.started[id], pid)
				}
			}
		}
	}
	return c.started[consumer]
}

// uuidArgument returns the argument of -uuid on a command line, whose words end with a zero byte.
func uuidArgument(commandLine []byte) (uuid.UUID, bool) {
	_, after, found := bytes.Cut(commandLine, []byte("\x00-uuid\x00"))
	word, _, _ := bytes.Cut(after, []byte{0})
	if !found || len(word) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.ParseBytes(word)
	return id, err == nil
}
