//go:build client

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The settings of Patroni that decide how long a failover takes. They are shorter than an
// operator's (ttl 30, loop_wait 10), and newer versions of Patroni accept no ttl below 20.
const (
	patroniTTL       = 8
	patroniLoopWait  = 1
	patroniRetryTime = 3
)

// process is a program in the foreground, which runs until the end of the test.
type process struct {
	t       *testing.T
	command *exec.Cmd
	ended   chan struct{}
}

// startProcess starts a program of Debian's as the account of PostgreSQL, with its output
// in a file of the directory.
func startProcess(t *testing.T, n *node, name, program string, args ...string) *process {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(n.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &process{t: t, command: n.command(program, args...), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.command.Wait() // the log says why it ended
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			text, err := os.ReadFile(log.Name())
			t.Logf("%s (%v):\n%s", log.Name(), err, tail(string(text), 10000))
		}
	})
	return p
}

// kill ends the process at once. It may have ended before.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	<-p.ended
}

// member is a PostgreSQL server with the Patroni that runs it.
type member struct {
	*node
	name    string
	rest    int // the port of Patroni's REST API
	patroni *process
}

// String returns the name of the member.
func (m *member) String() string {
	if m == nil {
		return "none"
	}
	return m.name
}

// patroniCluster is three members, etcd as their consensus store, and an HAProxy that
// leads to the leader. Patroni uses version 2 of etcd's API: through version 3, Patroni
// 3.0 renews the leader key without a comparison, so that a leader that is paused at that
// moment takes the leadership back when it resumes, and what its successor has
// acknowledged is lost.
type patroniCluster struct {
	t       *testing.T
	members []*member
	// balanced is a URL through HAProxy, and listed one with all members.
	balanced, listed string
}

// fixedPort is a free port below those that outgoing connections get, so that it is still
// free when a server that was killed starts again.
func fixedPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20000 + rand.IntN(12000)
		if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatal("none of 100 ports is free")
	return 0
}

// newPatroniCluster starts a cluster with an empty database berth.
func newPatroniCluster(t *testing.T) *patroniCluster {
	t.Helper()
	for _, program := range []string{"patroni", "etcd", "/usr/sbin/haproxy"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v; install Debian's packages patroni, python3-etcd, etcd-server and haproxy", err)
		}
	}
	base := newNode(t) // the directory and account of etcd and HAProxy
	client, peer := fixedPort(t), fixedPort(t)
	startProcess(t, base, "etcd", "etcd", "--name=only", "--data-dir="+etcdDirectory(t, base),
		fmt.Sprintf("--listen-client-urls=http://127.0.0.1:%d", client), fmt.Sprintf("--advertise-client-urls=http://127.0.0.1:%d", client),
		fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", peer), fmt.Sprintf("--initial-advertise-peer-urls=http://127.0.0.1:%d", peer),
		fmt.Sprintf("--initial-cluster=only=http://127.0.0.1:%d", peer), "--log-level=error", "--enable-v2")
	c := &patroniCluster{t: t}
	for i := range 3 {
		m := &member{node: newNode(t), name: "member" + strconv.Itoa(i), rest: fixedPort(t)}
		m.port = fixedPort(t)
		m.write("patroni.yml", patroniConfig(m, client))
		t.Cleanup(func() { m.killPostgres() })
		m.startPatroni()
		c.members = append(c.members, m)
	}
	c.awaitSynchronous()
	c.await("the leader has a database", c.createDatabase)

	balancer := fixedPort(t)
	base.write("haproxy.cfg", haproxyConfig(balancer, c.members))
	startProcess(t, base, "haproxy", "/usr/sbin/haproxy", "-db", "-f", filepath.Join(base.dir, "haproxy.cfg"))
	c.balanced = fmt.Sprintf("postgres://berth@127.0.0.1:%d/berth?sslmode=disable", balancer)
	c.listed = c.members[0].url(c.members[1].node, c.members[2].node) + "&target_session_attrs=read-write&connect_timeout=2"
	// HAProxy takes every member for up until its checks fail, and tries them in turn.
	c.await("HAProxy leads to the leader only", func() error {
		for range 3 * len(c.members) {
			if err := leadsToPrimary(t, c.balanced); err != nil {
				return err
			}
		}
		return nil
	})
	return c
}

// createDatabase creates the database berth on the leader, unless an attempt that failed has created it.
func (c *patroniCluster) createDatabase() error {
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, strings.Replace(c.leader().url(), "/berth?", "/postgres?", 1))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var isThere bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = 'berth')").Scan(&isThere); err != nil || isThere {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE berth")
	return err
}

// etcdDirectory returns a directory for etcd's data, in memory if there is a place for that. etcd syncs its file for each
// write of Patroni: a busy disk would make Patroni demote a healthy leader.
func etcdDirectory(t *testing.T, n *node) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "berth-etcd-")
	if err != nil {
		return filepath.Join(n.dir, "etcd")
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if n.trackedResource != nil {
		if err := os.Chown(dir, int(n.trackedResource.Uid), int(n.trackedResource.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// leadsToPrimary returns an error unless a new connection leads to a server that accepts writes.
func leadsToPrimary(t *testing.T, url string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var isStandby bool
	if err := conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&isStandby); err != nil {
		return err
	}
	if isStandby {
		return errors.New("the connection leads to a standby")
	}
	return nil
}

// write makes a file that every account may read.
func (n *node) write(name, text string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

func patroniConfig(m *member, etcd int) string {
	return strings.NewReplacer(
		"NAME", m.name, "ETCD", strconv.Itoa(etcd), "REST", strconv.Itoa(m.rest), "PORT", strconv.Itoa(m.port),
		"DIR", m.dir, "BIN", m.binaries.Dir, "TTL", strconv.Itoa(patroniTTL), "LOOP", strconv.Itoa(patroniLoopWait),
		"RETRY", strconv.Itoa(patroniRetryTime)).Replace(`
scope: berth
name: NAME
log: {level: INFO}
restapi: {listen: "127.0.0.1:REST", connect_address: "127.0.0.1:REST"}
etcd: {hosts: ["127.0.0.1:ETCD"]}
bootstrap:
  dcs:
    ttl: TTL
    loop_wait: LOOP
    retry_timeout: RETRY
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: {synchronous_commit: "on", hot_standby_feedback: "on", max_connections: 100}
  initdb: [{encoding: UTF8}, no-locale, no-sync]
postgresql:
  listen: 127.0.0.1:PORT
  connect_address: 127.0.0.1:PORT
  data_dir: DIR/data
  bin_dir: BIN
  pgpass: DIR/pgpass
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
  authentication:
    superuser: {username: berth, password: berth}
    replication: {username: replicator, password: replicator}
    rewind: {username: rewinder, password: rewinder}
  parameters: {unix_socket_directories: "", wal_retrieve_retry_interval: 100ms}
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
`)
}

func haproxyConfig(port int, members []*member) string {
	text := fmt.Sprintf(`
defaults
    mode tcp
    timeout connect 2s
    timeout client 30m
    timeout server 30m
    timeout check 2s
listen berth-primary
    bind 127.0.0.1:%d
    option httpchk GET /primary
    http-check expect status 200
    default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
`, port)
	for _, m := range members {
		text += fmt.Sprintf("    server %s 127.0.0.1:%d check port %d\n", m.name, m.port, m.rest)
	}
	return text
}

func (m *member) startPatroni() {
	m.t.Helper()
	m.patroni = startProcess(m.t, m.node, "patroni", "patroni", filepath.Join(m.dir, "patroni.yml"))
}

// postmaster is the process id of the running server; 0: none.
func (m *member) postmaster() int {
	text, err := os.ReadFile(filepath.Join(m.data(), "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil || !isAlive(pid) {
		return 0
	}
	return pid
}

// signalPostgres sends a signal to the server and all its processes, and returns them.
func (m *member) signalPostgres(signal syscall.Signal) []int {
	pid := m.postmaster()
	if pid == 0 {
		return nil
	}
	_ = syscall.Kill(pid, syscall.SIGSTOP) // it starts no more children, and does not see those end
	all := append(childrenOf(m.t, pid), pid)
	for _, one := range all {
		_ = syscall.Kill(one, signal) // it may have ended by itself
	}
	return all
}

// killPostgres ends the server with all its processes in the middle of what they do.
func (m *member) killPostgres() {
	killed := m.signalPostgres(syscall.SIGKILL)
	for deadline := time.Now().Add(time.Minute); slices.ContainsFunc(killed, isAlive); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Errorf("of the processes %v of PostgreSQL some are left a minute after SIGKILL", killed)
			return
		}
	}
}

// patroniState is what Patroni reports of one member.
type patroniState struct{ Name, Role, State string }

// states are the members as one of their Patronis sees them; nil while none answers.
func (c *patroniCluster) states() []patroniState {
	for _, m := range c.members {
		var found struct{ Members []patroniState }
		if m.call("GET", "/cluster", nil, &found) == nil && len(found.Members) > 0 {
			return found.Members
		}
	}
	return nil
}

// call sends a request to the REST API of the member's Patroni.
func (m *member) call(method, path string, body, into any) error {
	// A paused Patroni answers nothing; a switch-over is answered when it is over.
	ctx, cancel := context.WithTimeout(m.t.Context(), 2*time.Second)
	if method != "GET" {
		ctx, cancel = context.WithTimeout(m.t.Context(), time.Minute)
	}
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://127.0.0.1:%d%s", m.rest, path), strings.NewReader(text(body)))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != 200 {
		err = fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, answer)
	}
	if err != nil || into == nil {
		return err
	}
	return json.NewDecoder(bytes.NewReader(answer)).Decode(into)
}

// withRole is the member in a role; nil: none.
func (c *patroniCluster) withRole(role string) *member {
	for _, state := range c.states() {
		for _, m := range c.members {
			if state.Name == m.name && state.Role == role && state.State != "stopped" {
				return m
			}
		}
	}
	return nil
}

// leader waits for a leader: on a loaded machine, Patroni may have replaced the last one just now.
func (c *patroniCluster) leader() (found *member) {
	c.t.Helper()
	c.await("a member leads", func() error {
		if found = c.withRole("leader"); found == nil {
			return errors.New("no member leads")
		}
		return nil
	})
	return found
}

// awaitSynchronous waits until all members run, and the leader has a synchronous standby
// for Patroni and for PostgreSQL.
func (c *patroniCluster) awaitSynchronous() {
	c.t.Helper()
	c.await("all members run, one as synchronous standby", func() error {
		states := c.states()
		if len(states) != 3 || slices.ContainsFunc(states, func(s patroniState) bool { return s.State != "running" && s.State != "streaming" }) {
			return errors.New("a member does not run")
		}
		leader, standby := c.withRole("leader"), c.withRole("sync_standby")
		if leader == nil || standby == nil {
			return fmt.Errorf("leader %v, synchronous standby %v", leader, standby)
		}
		ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, strings.Replace(leader.url(), "/berth?", "/postgres?", 1))
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		var streaming int
		var synchronous bool
		if err := conn.QueryRow(ctx, "SELECT count(*), coalesce(bool_or(sync_state = 'sync' AND application_name = $1), false) "+
			"FROM pg_stat_replication WHERE state = 'streaming'", standby.name).Scan(&streaming, &synchronous); err != nil {
			return err
		}
		if streaming < 2 || !synchronous {
			return fmt.Errorf("%d standbys stream from PostgreSQL, %s as synchronous standby: %t", streaming, standby, synchronous)
		}
		return nil
	})
}

// patroniTimeout bounds each wait for the cluster. It is far above what any step takes on an idle machine.
const patroniTimeout = 5 * time.Minute

// await waits until missing returns nil. The failure names the wait, the last error and the state of the cluster.
func (c *patroniCluster) await(what string, missing func() error) {
	c.t.Helper()
	deadline := time.Now().Add(patroniTimeout)
	for {
		err := missing()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("waited %s until %s: %v; members: %+v", patroniTimeout, what, err, c.states())
		}
		time.Sleep(100 * time.Millisecond)
	}
}
