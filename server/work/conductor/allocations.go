package conductor

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// failureReasons are the reasons for which a node allocation gets no node.
var failureReasons = []string{"class", "busy", "owner", "candidate_nodes", "traits", "claimed"}

// newFailures returns the counters of node allocations without a node.
func newFailures() *prometheus.CounterVec {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "berth_baremetal_allocations_failed_total", Help: "Number of node allocations that got no node, by reason.",
	}, []string{"reason"})
	for _, reason := range failureReasons {
		counter.WithLabelValues(reason)
	}
	return counter
}

// Collectors returns the metrics of the conductor.
func (c *Conductor) Collectors() []prometheus.Collector {
	c.makeQueues()
	return []prometheus.Collector{c.failed}
}

// decideTimeout limits the statement that decides a node allocation. The statement also finishes while the conductor
// stops. It takes milliseconds, unless other transactions hold locks on all matching nodes.
const decideTimeout = 30 * time.Second

// decide decides a node allocation if it belongs to this conductor and is still pending. Every conductor receives the
// notification of every node allocation; the SQL function compares the conductor.
func (c *Conductor) decide(ctx context.Context, id uuid.UUID) error {
	bounded, done := context.WithTimeout(context.WithoutCancel(ctx), decideTimeout)
	defer done()
	failed, err := c.Store.NodeAllocationProcess(bounded, id, c.Hostname)
	if err != nil {
		c.Log.Error("cannot decide a node allocation; retrying", "allocation", id, "error", err)
		return err
	}
	for _, reason := range failed {
		c.failed.WithLabelValues(reason).Inc()
	}
	c.Log.Debug("processed a node allocation", "allocation", id)
	return nil
}
