package serve

import (
	"net"
	"net/http"
	"testing"
)

// TestServer_RequestBeganBeforeDrain_ItsConnectionIsAwaited checks that a connection counts until a request that began
// during the drain, whose response closes it. Otherwise the server closes the connection with a request in flight.
func TestServer_RequestBeganBeforeDrain_ItsConnectionIsAwaited(t *testing.T) {
	t.Parallel()
	draining := make(chan struct{})
	tracker := &idleConnTracker{draining: draining, open: map[net.Conn]http.ConnState{}}
	connection, other := net.Pipe()
	defer connection.Close()
	defer other.Close()
	for _, step := range []struct {
		state   http.ConnState
		drains  bool
		awaited bool
	}{
		{http.StateNew, false, true}, {http.StateActive, false, true},
		{http.StateIdle, true, true}, {http.StateActive, true, false}, {http.StateClosed, true, false},
	} {
		if step.drains && !tracker.isDraining() {
			close(draining)
			if !tracker.any() {
				t.Error("the connection of a request that began before the drain is not awaited")
			}
		}
		tracker.note(connection, step.state)
		if tracker.any() != step.awaited {
			t.Errorf("after %s: awaited = %t, want %t", step.state, tracker.any(), step.awaited)
		}
	}
}

func TestServer_ShutdownDuringRequest_ItsConnectionStaysOpen(t *testing.T) {
	t.Parallel()
	tracker := &idleConnTracker{draining: make(chan struct{}), open: map[net.Conn]http.ConnState{}}
	idle, peerOfIdle := net.Pipe()
	active, peerOfActive := net.Pipe()
	defer active.Close()
	tracker.note(idle, http.StateIdle)
	tracker.note(active, http.StateActive)
	tracker.close()
	if _, err := peerOfIdle.Write([]byte("x")); err == nil {
		t.Error("the idle connection is open")
	}
	go func() { _, _ = active.Read(make([]byte, 1)) }()
	if _, err := peerOfActive.Write([]byte("x")); err != nil {
		t.Errorf("the connection of a running request is closed: %v", err)
	}
}
