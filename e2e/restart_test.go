//go:build client

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
)

// TestServer_RollingRestart_NoFailedRequests: two servers on one database behind a
// balancer that asks /readyz, as most do.
func TestServer_RollingRestart_NoFailedRequests(t *testing.T) {
	t.Parallel()
	database := dbtest.NewEmpty(t).URL
	start := func(address string) *restartable {
		return startBerth(t, nil, "--listen", address, "--database-url", database, "--shutdown-delay", "500ms", "--baremetal-hostname", address)
	}
	addresses := []string{freeAddress(t), freeAddress(t)}
	servers := []*restartable{start(addresses[0]), start(addresses[1])}
	balancer := newBalancer(t, addresses...)
	work := newLoad(t, balancer, false)
	for range 2 {
		for i := range servers {
			work.forAnother(t, 20)
			servers[i].stop(t)
			work.forAnother(t, 20) // the other serves alone
			servers[i] = start(addresses[i])
			balancer.await(t, addresses[i])
		}
	}
	work.check(t)
}

// TestServer_RestartWithSocketActivation_NoRefusedConnections: the socket stays open while no server runs, as with
// systemd. Half of the clients make a connection for each request, half keep theirs.
func TestServer_RestartWithSocketActivation_NoRefusedConnections(t *testing.T) {
	t.Parallel()
	database := dbtest.NewEmpty(t).URL
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	start := func() *restartable { return startBerth(t, socket, "--database-url", database) }
	server := start()
	if want := "http://" + listener.Addr().String(); server.url != want {
		t.Fatalf("it listens on %s, not on %s", server.url, want)
	}
	work := newLoad(t, listener.Addr(), true)
	for range 3 {
		work.forAnother(t, 40)
		server.stop(t)
		server = start()
	}
	work.forAnother(t, 40)
	work.check(t)
}

// restartable is a `berth serve` that is stopped and started again.
type restartable struct {
	url     string
	command *exec.Cmd
	ended   chan error
	log     *strings.Builder
}

// startBerth starts one, on a socket if one is passed as systemd passes it.
func startBerth(t *testing.T, socket *os.File, arguments ...string) *restartable {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	arguments = append([]string{"serve", "--access-log=false"}, arguments...)
	command := exec.Command(program, arguments...)
	command.Env = withoutSettings(os.Environ())
	if socket != nil {
		command = exec.Command("sh", append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`, program}, arguments...)...)
		command.Env = append(withoutSettings(os.Environ()), "LISTEN_FDS=1")
		command.ExtraFiles = []*os.File{socket}
	}
	r := &restartable{command: command, ended: make(chan error, 1), log: new(strings.Builder)}
	command.Stderr = r.log
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	greeting, _ := bufio.NewReader(stdout).ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		r.ended <- command.Wait()
	}()
	t.Cleanup(func() { _ = command.Process.Kill() })
	url, announced := strings.CutPrefix(strings.TrimSpace(greeting), "Berth is listening on ")
	if !announced {
		t.Fatalf("berth serve did not start: %v\n%s", <-r.ended, r.log)
	}
	r.url = url
	return r
}

// stop asks it to end, which it does with every request answered.
func (r *restartable) stop(t *testing.T) {
	t.Helper()
	if err := r.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-r.ended; err != nil {
		t.Errorf("berth serve ended with %v\n%s", err, r.log)
	}
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// balancer sends each request to the next server that says it is ready.
type balancer struct {
	net.Addr
	mutex sync.Mutex
	ready map[string]bool
	turn  int
}

func newBalancer(t *testing.T, addresses ...string) *balancer {
	t.Helper()
	b := &balancer{ready: map[string]bool{}}
	proxies := map[string]*httputil.ReverseProxy{}
	for _, address := range addresses {
		b.ready[address] = true
		proxies[address] = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
		go b.watch(t.Context(), address)
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxies[b.next(addresses)].ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	b.Addr = front.Listener.Addr()
	return b
}

func (b *balancer) watch(ctx context.Context, address string) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil {
		response, err := client.Get("http://" + address + "/readyz")
		ready := err == nil && response.StatusCode == http.StatusOK
		if err == nil {
			response.Body.Close()
		}
		b.mutex.Lock()
		b.ready[address] = ready
		b.mutex.Unlock()
		time.Sleep(50 * time.Millisecond)
	}
}

func (b *balancer) next(addresses []string) string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for range addresses {
		b.turn++
		if address := addresses[b.turn%len(addresses)]; b.ready[address] {
			return address
		}
	}
	return addresses[0]
}

func (b *balancer) await(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		b.mutex.Lock()
		ready := b.ready[address]
		b.mutex.Unlock()
		if ready {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not ready", address)
		}
	}
}

// load are clients that read and claim without pause, and note what was promised.
type load struct {
	base    string
	end     context.CancelFunc
	clients sync.WaitGroup
	done    atomic.Int64

	mutex    sync.Mutex
	promised map[uuid.UUID]bool
	failures []error
}

const loadHost = "11111111-0000-4000-8000-000000000001"

func newLoad(t *testing.T, at net.Addr, alsoFresh bool) *load {
	t.Helper()
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	l := &load{base: "http://" + at.String(), end: end, promised: map[uuid.UUID]bool{}}
	t.Cleanup(end)
	kept := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	for _, step := range [][3]string{
		{"POST", "/resource_providers", `{"name": "host", "uuid": "` + loadHost + `"}`},
		{"PUT", "/resource_providers/" + loadHost + "/inventories", `{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1000000}}}`},
	} {
		if _, err := l.ask(ctx, kept, step[0], step[1], step[2]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 8 {
		client := kept
		if alsoFresh && i%2 == 0 {
			client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		}
		l.clients.Go(func() {
			for ctx.Err() == nil {
				if i < 4 {
					l.claim(ctx, client)
				} else {
					l.note(l.ask(ctx, client, "GET", "/allocation_candidates?resources=VCPU:1", ""))
				}
			}
		})
	}
	return l
}

func (l *load) claim(ctx context.Context, client *http.Client) {
	consumer := uuid.New()
	_, err := l.ask(ctx, client, "PUT", "/allocations/"+consumer.String(), `{"allocations": {"`+loadHost+`": {"resources": {"VCPU": 1}}},
		"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`)
	if l.note("", err); err == nil {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.promised[consumer] = true
	}
}

func (l *load) note(_ string, err error) {
	l.done.Add(1)
	if err == nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.failures = append(l.failures, err)
}

func (l *load) ask(ctx context.Context, client *http.Client, method, path, body string) (string, error) {
	// A request that has begun ends, whatever becomes of the load.
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, l.base+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header = http.Header{"X-Auth-Token": {"admin"}, "X-Roles": {"admin,service"}, "Openstack-Api-Version": {"placement 1.39"}, "Content-Type": {"application/json"}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return string(text), err
}

// forAnother lets so many requests be answered.
func (l *load) forAnother(t *testing.T, requests int64) {
	t.Helper()
	enough := l.done.Load() + requests
	for deadline := time.Now().Add(time.Minute); l.done.Load() < enough; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the clients are not answered")
		}
	}
}

// check ends the load: nothing failed, and all that was promised is there.
func (l *load) check(t *testing.T) {
	t.Helper()
	l.end()
	l.clients.Wait()
	for i, failure := range l.failures {
		if i < 5 {
			t.Error(failure)
		}
	}
	t.Logf("%d requests, %d failed, %d claims promised", l.done.Load(), len(l.failures), len(l.promised))
	text, err := l.ask(t.Context(), http.DefaultClient, "GET", "/resource_providers/"+loadHost+"/allocations", "")
	if err != nil {
		t.Fatal(err)
	}
	lost := maps.Clone(l.promised)
	maps.DeleteFunc(lost, func(consumer uuid.UUID, _ bool) bool { return strings.Contains(text, consumer.String()) })
	if len(lost) > 0 || len(l.promised) == 0 {
		t.Errorf("%d claims are lost", len(lost))
	}
}
