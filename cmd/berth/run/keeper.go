package run

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// keeper renews the lease of a consumer in the background.
type keeper struct {
	// lost delivers why the lease is lost, once.
	lost chan error
	stop context.CancelFunc
}

// keep starts to renew the lease of a consumer, which ends at a time unless it is renewed.
func keep(service *client.Client, consumer uuid.UUID, end time.Time) *keeper {
	ctx, stop := context.WithCancel(context.Background())
	k := &keeper{lost: make(chan error, 1), stop: stop}
	go func() {
		if err := service.KeepUntilLost(ctx, end, consumer); err != nil {
			k.lost <- err
		}
	}()
	return k
}

// end ends the renewals.
func (k *keeper) end() {
	if k != nil {
		k.stop()
	}
}
