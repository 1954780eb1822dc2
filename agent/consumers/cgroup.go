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

// Cgroup is a source that reads from the kernel on which NUMA nodes the processes of a consumer run and have their
// memory. The processes are those in the control groups of the consumer, of either version; without any, those started
// with -uuid and its UUID, like QEMU.
//
// It divides processors (VCPU, PCPU) in proportion to the CPUs on which the threads may run, and memory (MEMORY_MB and
// CUSTOM_MEMORY_HUGEPAGES_ of every size) in proportion to all pages. If the threads may run on every CPU, it divides
// processors like memory. A consumer whose threads and memory may be anywhere is unknown, and so are other classes.
type Cgroup struct {
	root, pattern string

	mutex sync.Mutex
	// started are processes by the UUID that they were started with; nil until they are read.
	started map[uuid.UUID][]int
}

// NewCgroup returns a Cgroup for a root of the file system, / outside of tests, and a pattern. The pattern has the form
// of path/filepath.Match, is relative to the mount point of control groups, and contains {uuid} in place of the UUID of
// the consumer. It also matches the UUID as systemd escapes it (\x2d for the hyphen), with underscores, and without
// hyphens. An empty pattern is DefaultPattern. It returns an error if the pattern is invalid.
func NewCgroup(root, pattern string) (*Cgroup, error) {
	if pattern == "" {
		pattern = DefaultPattern
	}
	if !strings.Contains(pattern, "{uuid}") {
		return nil, fmt.Errorf("the pattern %q has no {uuid}, so that it would find the same processes for every consumer", pattern)
	}
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("the pattern %q: %w; see the manual page glob(7)", pattern, err)
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

// groups are the directories of the consumer's control groups: below the mount
// of version 2, or below those of the two controllers of version 1 that matter.
func (c *Cgroup) groups(consumer uuid.UUID) []string {
	id := consumer.String()
	mounted := filepath.Join(c.root, "sys/fs/cgroup")
	for _, written := range []string{
		// Twice a backslash: the first escapes the second in the pattern.
		id, strings.ReplaceAll(id, "-", `\\x2d`), strings.ReplaceAll(id, "-", "_"), strings.ReplaceAll(id, "-", ""),
	} {
		pattern := strings.ReplaceAll(c.pattern, "{uuid}", written)
		for _, below := range []string{"", "cpuset", "systemd", "unified"} {
			// The pattern was tried when it was given, and Glob has no other error.
			if found, _ := filepath.Glob(filepath.Join(mounted, below, pattern)); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// processes lists those of control groups and everything below them, once each.
func processes(groups []string) ([]int, error) {
	seen := map[int]bool{}
	for _, group := range groups {
		err := filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // ended while we looked
			}
			if err != nil || entry.Name() != "cgroup.procs" {
				return err
			}
			content, err := os.ReadFile(path)
			switch {
			// A threaded group shows its processes in the group above only.
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.EOPNOTSUPP):
				return nil
			case err != nil:
				return err
			}
			for word := range strings.FieldsSeq(string(content)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					return fmt.Errorf("%s: %q is not the number of a process", path, word)
				}
				// 0 stands for a process of another pid namespace.
				if pid > 0 {
					seen[pid] = true
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("finding the processes of a control group: %w", err)
		}
	}
	return sortedInts(seen), nil
}

// processesOf are the processes with the uuid on their command line, after -uuid.
func (c *Cgroup) processesOf(consumer uuid.UUID) []int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.started == nil {
		c.started = map[uuid.UUID][]int{}
		// The pattern is right, and Glob has no other error.
		lines, _ := filepath.Glob(filepath.Join(c.root, "proc/[0-9]*/cmdline"))
		for _, path := range lines {
			content, err := os.ReadFile(path)
			if err != nil {
				continue // ended while we looked
			}
			if id, told := uuidArgument(content); told {
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				if err == nil {
					c.started[id] = append(c.started[id], pid)
				}
			}
		}
	}
	return c.started[consumer]
}

// uuidArgument finds -uuid among the words of a command line, each of which ends
// with a zero.
func uuidArgument(commandLine []byte) (uuid.UUID, bool) {
	_, after, found := bytes.Cut(commandLine, []byte("\x00-uuid\x00"))
	word, _, _ := bytes.Cut(after, []byte{0})
	if !found || len(word) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.ParseBytes(word)
	return id, err == nil
}
