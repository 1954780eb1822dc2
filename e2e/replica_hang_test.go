//go:build client

package e2e

import (
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// hangingProxy leads to a port until it is cut: then it takes what comes and carries nothing,
// as the network does between a server and a machine that has lost its power.
type hangingProxy struct {
	url string
	cut chan struct{}
}

func newWire(t *testing.T, to *node) *hangingProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	w := &hangingProxy{url: strings.Replace(to.url(), strconv.Itoa(to.port), port, 1), cut: make(chan struct{})}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { near.Close() })
			far, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(to.port)))
			if err != nil {
				near.Close()
				continue
			}
			t.Cleanup(func() { far.Close() })
			go w.carry(far, near)
			go w.carry(near, far)
		}
	}()
	return w
}

func (w *hangingProxy) carry(to, from net.Conn) {
	defer to.Close()
	packet := make([]byte, 1<<16)
	for {
		n, err := from.Read(packet)
		select {
		case <-w.cut:
			select {} // with both ends open
		default:
		}
		if n > 0 {
			if _, err := to.Write(packet[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// TestReplica_Hangs_ReadsFallBackToPrimary reads while the replica has vanished
// without a word, from connections that were idle and from those that were busy.
func TestReplica_Hangs_ReadsFallBackToPrimary(t *testing.T) {
	t.Parallel()
	primary := newPrimary(t)
	replica := newStandby(t, primary, "replica", "log_statement = 'all'")
	way := newWire(t, replica)
	reader := serveOn(t, primary.url(), "--replica-url", way.url, "--replica-wait-timeout", "20ms", "--baremetal-backend", "off")
	mustAsk(t, 200, "POST", reader.url+"/resource_providers", map[string]any{"name": "host"})
	awaitLists(t, replica, reader)
	var reads sync.WaitGroup
	for range 8 { // as many connections
		reads.Go(func() {
			for range 50 {
				mustAsk(t, 200, "GET", reader.url+"/resource_providers", nil)
			}
		})
	}
	reads.Wait()
	close(way.cut)
	var slowest time.Duration
	slow := 0
	for began := time.Now(); time.Since(began) < 5*time.Second; {
		since := time.Now()
		mustAsk(t, 200, "GET", reader.url+"/resource_providers", nil)
		took := time.Since(since)
		if slowest = max(slowest, took); took > 500*time.Millisecond {
			slow++
		}
	}
	t.Logf("the slowest took %v, and %d more than half a second", slowest, slow)
	// A connection that was in use a moment ago is given a second to say where it is.
	if slowest > 3*time.Second || slow > 8 {
		t.Error("the reads waited for a replica that is gone")
	}
}
