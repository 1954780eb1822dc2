package baremetal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// TestLocks_200NodesDrivenBy16Clients_NoRequestIsConflict drives nodes from enroll to active and back over HTTP while a
// conductor works. Each client sends its next request as soon as the node shows the expected state, and checks nothing
// else, like ironicclient and tempest.
func TestLocks_200NodesDrivenBy16Clients_NoRequestIsConflict(t *testing.T) {
	t.Parallel()
	nodes, clients := 200, 16
	if testing.Short() {
		nodes = 32
	}
	s := newServiceWith(t, postgres.Options{MaxConns: 8}, baremetal.Options{LockTimeout: time.Minute})
	s.works()
	listening := httptest.NewServer(s.handler)
	defer listening.Close()

	names := make(chan string, nodes)
	for i := range nodes {
		names <- fmt.Sprintf("rack-%d", i)
	}
	close(names)
	var running sync.WaitGroup
	var mutex sync.Mutex
	conflicts := map[string]int{}
	for range clients {
		running.Go(func() {
			for name := range names {
				driven := &drivenNode{url: listening.URL, name: name, conflicts: map[string]int{}}
				if err := driven.live(t); err != nil {
					t.Errorf("node %s: %v", name, err)
				}
				mutex.Lock()
				for step, count := range driven.conflicts {
					conflicts[step] += count
				}
				mutex.Unlock()
			}
		})
	}
	running.Wait()
	if len(conflicts) > 0 {
		t.Errorf("409 by request = %v, want none", conflicts)
	}
}

// holds reserves a node in its state for the conductor and returns a function that releases it.
func (s *service) holds(node, state string) (release func()) {
	s.t.Helper()
	reserve := func(host *string) {
		_, moved, err := s.store.NodeTransition(s.t.Context(), node, store.Transition{To: state, Conductor: host})
		if err != nil || !moved {
			s.t.Fatalf("moved = %v, error = %v", moved, err)
		}
	}
	reserve(new(conductor))
	return func() { reserve(nil) }
}

func lockedText(node string) string {
	return "Node " + node + " is locked by host berth-1, please retry after the current operation is completed."
}

func TestLocks_NodeReleasedInTime_RequestSucceeds(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, postgres.Options{MaxConns: 4}, baremetal.Options{LockTimeout: time.Minute})
	for path, body := range map[string]string{
		"provision": `{"target": "active", "configdrive": "H4sI"}`, "power": `{"target": "power on"}`,
	} {
		id := s.machine(nil)
		release := s.holds(id, "available")
		answered := make(chan *response)
		go func() { answered <- s.send(http.MethodPut, "/v1/nodes/"+id+"/states/"+path, "1.82", body) }()
		select {
		case got := <-answered:
			t.Errorf("%s: status = %d before the release", path, got.status)
			continue
		case <-time.After(200 * time.Millisecond):
		}
		release()
		(<-answered).wants(http.StatusAccepted)
	}
}

func TestLocks_NodeHeldLongerThanTimeout_Returns409(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, postgres.Options{MaxConns: 4}, baremetal.Options{LockTimeout: 50 * time.Millisecond})
	id := s.machine(nil)
	s.holds(id, "available")
	s.provisioned(id, "active").refuses(http.StatusConflict, lockedText(id))
	s.send(http.MethodPut, "/v1/nodes/"+id+"/states/power", "1.82", `{"target": "power on"}`).refuses(http.StatusConflict, lockedText(id))
}

// Like ironic, the server rejects what the state does not permit immediately, even on a reserved node. The lock timeout
// here is longer than the timeout of the test.
func TestLocks_VerbNotAllowedInState_DoesNotWait(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, postgres.Options{MaxConns: 4}, baremetal.Options{LockTimeout: time.Hour})
	id := s.machine(map[string]any{"maintenance": true})
	s.holds(id, "verifying")
	s.provisioned(id, "manage").refuses(http.StatusConflict, lockedText(id))
	s.holds(id, "available")
	s.provisioned(id, "active").refuses(http.StatusBadRequest,
		"The provisioning operation can't be performed on node "+id+" because it's in maintenance mode.")
	s.holds(id, "cleaning")
	s.send(http.MethodPut, "/v1/nodes/"+id+"/states/power", "1.82", `{"target": "power on"}`).refuses(http.StatusBadRequest,
		`The requested action "power on" can not be performed on node "`+id+`" while it is in state "cleaning".`)
}

func TestLocks_ManyRequestsWaiting_HoldNoConnection(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, postgres.Options{MaxConns: 1}, baremetal.Options{LockTimeout: time.Minute})
	id := s.machine(nil)
	release := s.holds(id, "available")
	const number = 8
	statuses := make(chan int, number)
	for range number {
		go func() {
			statuses <- s.send(http.MethodPut, "/v1/nodes/"+id+"/states/power", "1.82", `{"target": "power on"}`).status
		}()
	}
	for range 20 {
		s.get("/v1/nodes", "1.82").wants(http.StatusOK)
	}
	if len(statuses) > 0 {
		t.Errorf("%d requests did not wait", len(statuses))
	}
	release()
	for range number {
		if got := <-statuses; got != http.StatusAccepted {
			t.Errorf("status = %d, want 202", got)
		}
	}
}

func TestLocks_ProcessStops_WaitEnds(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	s := newServiceWith(t, postgres.Options{MaxConns: 4}, baremetal.Options{LockTimeout: time.Hour, Stopping: stopping})
	id := s.machine(nil)
	s.holds(id, "available")
	time.AfterFunc(50*time.Millisecond, func() { close(stopping) })
	s.provisioned(id, "active").refuses(http.StatusConflict, lockedText(id))
}

// drivenNode is a node that one client drives. It counts the 409s by request and retries those requests.
type drivenNode struct {
	url, name string
	conflicts map[string]int
}

// live drives a node through all requests of its lifecycle.
func (d *drivenNode) live(t *testing.T) error {
	node := "/v1/nodes/" + d.name
	for _, step := range []struct{ method, path, body, member, state string }{
		{http.MethodPost, "/v1/nodes", `{"driver": "fake-hardware", "resource_class": "gold", "name": "` + d.name + `"}`, "provision_state", "enroll"},
		{http.MethodPut, node + "/states/provision", `{"target": "manage"}`, "provision_state", "manageable"},
		{http.MethodPut, node + "/states/power", `{"target": "power off"}`, "power_state", "power off"},
		{http.MethodPut, node + "/states/provision", `{"target": "provide"}`, "provision_state", "available"},
		{http.MethodPut, node + "/states/provision", `{"target": "active"}`, "provision_state", "active"},
		{http.MethodPut, node + "/states/power", `{"target": "rebooting"}`, "power_state", "power on"},
		{http.MethodPut, node + "/states/provision", `{"target": "rebuild"}`, "provision_state", "active"},
		{http.MethodPut, node + "/states/power", `{"target": "power off"}`, "power_state", "power off"},
		{http.MethodPut, node + "/states/provision", `{"target": "deleted"}`, "provision_state", "available"},
		{http.MethodDelete, node, "", "", ""},
	} {
		if err := d.until(t, step.method, step.path, step.body); err != nil {
			return err
		}
		if step.state == "" {
			continue
		}
		if err := d.shows(t, node, step.member, step.state); err != nil {
			return err
		}
	}
	return nil
}

// until sends a request until its status is not 409.
func (d *drivenNode) until(t *testing.T, method, path, body string) error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		status, text, err := d.send(t, method, path, body)
		switch {
		case err != nil:
			return err
		case status == http.StatusConflict:
			d.conflicts[method+strings.TrimPrefix(path, "/v1/nodes/"+d.name)+" "+body]++
			time.Sleep(5 * time.Millisecond)
		case status >= 300:
			return fmt.Errorf("%s %s %s: status %d: %s", method, path, body, status, text)
		default:
			return nil
		}
	}
	return errors.New("status = 409 for a minute")
}

// shows waits until the node's member has the value.
func (d *drivenNode) shows(t *testing.T, path, member, value string) error {
	var last []byte
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		status, text, err := d.send(t, http.MethodGet, path, "")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("status %d: %w", status, err)
		}
		shown := map[string]any{}
		if err := json.Unmarshal(text, &shown); err != nil {
			return err
		}
		if shown[member] == value {
			return nil
		}
		last = text
	}
	return fmt.Errorf("%s != %q after a minute: %s", member, value, last)
}

func (d *drivenNode) send(t *testing.T, method, path, body string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.82")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}
