package requests

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/cmd/bench/rig"
)

// rehearsingClients is the number of clients that send dry runs while claims are measured.
const rehearsingClients = 8

// maxClaims limits the claims of each measurement, for which the provider has room.
const maxClaims = 5000

// claimsBeside is the name of the measurement of claims beside dry runs.
const claimsBeside = "claims beside dry runs"

// compareClaimsBesideDryRuns prints the latency of claims on a provider without other clients, and while clients send dry runs of a
// reshape that moves 2,400 consumers away from it. The reshape compares no generations and removes no inventories, so the claims
// do not make it a conflict.
func (p *benchEnv) compareClaimsBesideDryRuns(ctx context.Context, length time.Duration) error {
	ctx = rig.WithVersions(ctx, "placement 1.39, berth 1.3")
	tree, err := p.makeTree(ctx, 2400)
	if err != nil {
		return err
	}
	tree.toggle()
	body := tree.patch(false)
	alone, err := p.claimsFor(ctx, tree.root, length)
	if err != nil {
		return err
	}
	rehearsing, stop := context.WithCancel(ctx)
	var clients sync.WaitGroup
	var done, busy atomic.Int64
	for range rehearsingClients {
		clients.Go(func() {
			for rehearsing.Err() == nil {
				err := p.rehearse(rehearsing, request{http.MethodPatch, p.berth + "/reshaper", body, 0})
				switch {
				case err == nil:
					done.Add(1)
				case strings.Contains(err.Error(), "berth.dry_run.busy"):
					busy.Add(1)
				}
			}
		})
	}
	beside, err := p.claimsFor(ctx, tree.root, length)
	stop()
	clients.Wait()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d clients send dry runs of a reshape of 2400 consumers\n", claimsBeside, rehearsingClients)
	for _, one := range []struct {
		name string
		took []float64
	}{{"alone", alone}, {"beside", beside}} {
		fmt.Fprintf(os.Stderr, "  %-8s %5d claims, p50 %8.1f ms, p99 %8.1f ms\n", one.name, len(one.took), percentile(one.took, 50), percentile(one.took, 99))
	}
	fmt.Fprintf(os.Stderr, "  %d dry runs, %d others were busy\n", done.Load(), busy.Load())
	return nil
}

// claimsFor claims one provider for new consumers, one after the other, and returns the times in milliseconds.
func (p *benchEnv) claimsFor(ctx context.Context, provider string, length time.Duration) ([]float64, error) {
	var took []float64
	body, err := json.Marshal(claim(provider, nil))
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(length); time.Now().Before(end) && len(took) < maxClaims; {
		begun := time.Now()
		if err := p.Request(ctx, http.MethodPut, p.berth+"/allocations/"+uuid.NewString(), string(body), http.StatusNoContent); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begun).Seconds()*1000)
	}
	return took, nil
}

func percentile(values []float64, of int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)*of/100, len(sorted)-1)]
}
