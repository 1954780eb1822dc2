package candidates

import (
	"context"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
	"github.com/berthd/berth/internal/test/process"
)

// contender is a server process, and the request that it is measured with.
type contender struct {
	server  *process.Process
	request rig.RequestFunc
}

// figures are those of one measurement, with the CPU time of all of its requests.
type figures struct {
	rig.Figures
	postgres, server time.Duration
}

// samples are the figures of one contender, a round each.
type samples []figures

// cpuTime is that of a request in milliseconds.
type cpuTime struct{ Postgres, Server float64 }

func (c cpuTime) sum() float64 { return c.Postgres + c.Server }

// slowRequest is the latency from which no request is repeated to warm up.
const slowRequest = time.Second

// alternate measures the contenders alternately, for some rounds. Unless requests are
// slow, a shorter round before those warms up connections, prepared statements and caches.
func (b *bench) alternate(ctx context.Context, clients int, of repeats, all []contender) ([]samples, error) {
	found := make([]samples, len(all))
	first := 0
	if of.warmUps > 0 {
		first = -1
	}
	for round := first; round < of.rounds; round++ {
		length := b.settings.length
		if round < 0 {
			length /= 3
		}
		for place := range all {
			i := place
			if round%2 == 0 { // what follows another contender may be slower than what precedes it
				i = len(all) - 1 - place
			}
			measured, err := b.measureOne(ctx, clients, length, all[i])
			if err != nil {
				return nil, err
			}
			if round >= 0 {
				found[i] = append(found[i], measured)
			}
		}
	}
	return found, nil
}

// measureOne measures a contender while no other works, so that all CPU time of
// PostgreSQL is that of its requests.
func (b *bench) measureOne(ctx context.Context, clients int, length time.Duration, one contender) (figures, error) {
	postgres, err := b.postgres.Read()
	if err != nil {
		return figures{}, err
	}
	server, err := rig.ProcessCPU(one.server)
	if err != nil {
		return figures{}, err
	}
	measured, err := b.Measure(ctx, clients, length, one.request)
	if err != nil {
		return figures{}, err
	}
	serverAfter, err := rig.ProcessCPU(one.server)
	if err != nil {
		return figures{}, err
	}
	postgresAfter, err := b.postgres.Read()
	return figures{measured, max(0, postgresAfter-postgres), serverAfter - server}, err
}

// cpu is the mean of all requests of all rounds. A median of the rounds would leave out
// the garbage collections that only some of them have.
func (s samples) cpu() cpuTime {
	var postgres, server time.Duration
	requests := 0
	for _, one := range s {
		postgres, server, requests = postgres+one.postgres, server+one.server, requests+one.Requests
	}
	if requests == 0 {
		return cpuTime{}
	}
	return cpuTime{milliseconds(postgres) / float64(requests), milliseconds(server) / float64(requests)}
}

// latency is the median of the rounds, in milliseconds.
func (s samples) latency() float64 {
	var values []float64
	for _, one := range s {
		values = append(values, milliseconds(one.P50))
	}
	return rig.Median(values)
}

// multiples are the latencies as multiples of another contender's, round by round.
func (s samples) multiples(of samples) []float64 {
	var all []float64
	for i, one := range s {
		all = append(all, float64(one.P50)/float64(of[i].P50))
	}
	return all
}

// shares are the throughputs as parts of another contender's, round by round.
func (s samples) shares(of samples) []float64 {
	var all []float64
	for i, one := range s {
		all = append(all, one.Rate/of[i].Rate)
	}
	return all
}

// repeats is how often a measurement is repeated.
type repeats struct {
	rounds int
	// warmUps is the number of requests before one whose round trips are counted. With 0,
	// there is no round to warm up either.
	warmUps int
}

// rowTime is the approximate maximum time of the rounds of a row.
const rowTime = 15 * time.Second

// repeat returns as many rounds as fit into rowTime, at most those of the settings.
func (b *bench) repeat(took time.Duration, contenders int) repeats {
	one := max(took, b.settings.length) * time.Duration(contenders)
	of := repeats{rounds: max(1, min(b.settings.rounds, int(rowTime/one))), warmUps: 2}
	switch {
	case took >= slowRequest:
		of.warmUps = 0
	case took >= b.settings.length/3:
		of.warmUps = 1
	}
	return of
}
