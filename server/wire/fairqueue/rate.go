package fairqueue

import "time"

// workOfClients is the work of clients that exceeds what their rate has permitted since. The zero rate is not valid.
type workOfClients struct {
	rate int64
	all  map[string]clientWork
	// sweepAt is the number of clients at which those without excess work are deleted.
	sweepAt int
}

// clientWork is the excess work of a client at a time.
type clientWork struct {
	amount float64
	at     time.Time
}

// minSweep is the minimum of sweepAt.
const minSweep = 64

// add adds the work of a request.
func (w *workOfClients) add(client string, amount int64, now time.Time) {
	w.all[client] = clientWork{w.excess(client, now) + float64(amount), now}
	if len(w.all) < w.sweepAt {
		return
	}
	for each := range w.all {
		if w.excess(each, now) == 0 {
			delete(w.all, each)
		}
	}
	w.sweepAt = max(minSweep, 2*len(w.all))
}

// excess returns the excess work of a client.
func (w *workOfClients) excess(client string, now time.Time) float64 {
	found, ok := w.all[client]
	if !ok {
		return 0
	}
	return max(0, found.amount-now.Sub(found.at).Seconds()*float64(w.rate))
}

// delay returns the time after which the excess work of a client is at most burst.
func (w *workOfClients) delay(client string, burst int64, now time.Time) time.Duration {
	over := w.excess(client, now) - float64(burst)
	if over <= 0 {
		return 0
	}
	return time.Duration(over/float64(w.rate)*float64(time.Second)) + 1 // rounded up
}
