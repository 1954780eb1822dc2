package run

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/apicommand"
	"github.com/berthd/berth/internal/terminal"
)

// berth16 is the version of the extensions with leases.
const berth16 = "1.6"

// place is what was claimed for the command.
type place struct {
	consumer   uuid.UUID
	generation int64
	document   *apicommand.ClaimsDocument
	// variables are those of the command.
	variables map[string]string
	// stop is when the command gets SIGTERM, by the clock of this computer; zero: it does not. SIGKILL follows stopDelay later.
	stop      time.Time
	stopDelay time.Duration
}

func (p *place) claim() *apicommand.ClaimDocument { return &p.document.Claims[0] }

// host returns the name of the root provider.
func (p *place) host() string {
	if name := p.claim().RootName; name != nil {
		return *name
	}
	return ""
}

func (p *place) hostText() string { return terminal.Safe(p.host()) }

// search is a request that was sent and may have been executed: it is repeated with its key until its outcome is known.
type search struct {
	client.ClaimSearch
	sent time.Time
	// length is that of the lease.
	length time.Duration
}

// attempt claims a place.
func (r *run) attempt(ctx context.Context) (*place, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	has, err := r.service.HasExtensions(ctx, berth16)
	if err != nil {
		return nil, err
	}
	if !has {
		address, _ := r.service.Address(ctx)
		return nil, fmt.Errorf("the service at %s has no berth %s, which berth run needs", address, berth16)
	}
	ctx = client.WithExtensions(ctx, berth16)
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if r.pending != nil && r.keeper == nil && time.Since(r.pending.sent) > r.pending.length {
		r.abandon() // its consumer may be gone again
	}
	if r.pending == nil {
		if r.pending, err = r.newSearch(); err != nil {
			return nil, err
		}
	}
	asked := *r.pending
	places, err := r.service.ClaimCreate(ctx, asked.ClaimSearch)
	if err != nil {
		if !errors.Is(err, client.ErrOutcomeUnknown) && ctx.Err() == nil {
			r.pending = nil
		}
		return nil, err
	}
	if r.keeper == nil {
		r.keeper = keep(r.service, places.Claims[0].Consumer, asked.sent.Add(asked.length))
	}
	found, err := r.describe(ctx, &asked, &places)
	if err == nil {
		r.pending = nil
	}
	return found, err
}

// newSearch returns a request for a new consumer.
func (r *run) newSearch() (*search, error) {
	now := time.Now()
	from := now
	if r.options.until != "" {
		from = r.started // so that 18:00 stays that of today while it waits
	}
	terms, err := leaseAt(r.options, from)
	if err != nil {
		return nil, err
	}
	return &search{
		ClaimSearch: client.ClaimSearch{
			Consumers: []client.ClaimConsumer{{
				UUID: uuid.New(), ProjectID: r.owner.Project, UserID: r.owner.User, Type: r.options.kind, Lease: &terms,
			}},
			Queries: r.restricted(), Key: uuid.NewString(),
		},
		sent: now, length: time.Duration(terms.Seconds) * time.Second,
	}, nil
}

// describe reads the names of a claim and computes the variables of the command. An attempt that fails here is repeated: the
// server returns the same claim for the same key.
func (r *run) describe(ctx context.Context, asked *search, places *client.ClaimedPlaces) (*place, error) {
	document, err := apicommand.DocumentClaims(ctx, r.service, r.queries, places)
	if err != nil {
		return nil, err
	}
	claimed := places.Claims[0]
	found := &place{consumer: claimed.Consumer, generation: claimed.Generation, document: document}
	found.stop, found.stopDelay = stopTime(asked, claimed.Lease)
	devices, err := r.deviceVariables(ctx, found)
	if err != nil {
		return nil, err
	}
	found.variables = found.variablesWith(devices, r.files.claim)
	return found, nil
}

// stopTime returns when the command must get SIGTERM so that it has ended when the lease does, and the time from then to SIGKILL;
// zero: the lease has no such time. The clock is that of the database where the lease shows it: it expires its seconds after
// the claim.
func stopTime(asked *search, lease *client.Lease) (time.Time, time.Duration) {
	if lease == nil || lease.Until == nil {
		return time.Time{}, 0
	}
	left := lease.Until.Sub(asked.sent)
	if lease.Seconds != nil && lease.ExpiresAt.Before(*lease.Until) {
		claimedAt := lease.ExpiresAt.Add(-time.Duration(*lease.Seconds) * time.Second)
		left = lease.Until.Sub(claimedAt)
	}
	delay := min(killDelay, left/6)
	return asked.sent.Add(left - delay), delay
}

// prepare finds the tree of this host, the owner of the consumer, and the UUIDs in the queries, each once.
func (r *run) prepare(ctx context.Context) (err error) {
	if err := r.findHost(ctx); err != nil {
		return err
	}
	if r.owner.User == "" {
		if r.owner, err = r.findOwner(ctx); err != nil {
			return err
		}
	}
	if r.queries == nil {
		r.queries, err = r.options.queries.Queries(ctx, r.service)
	}
	return err
}

// findHost reads the tree of this host.
func (r *run) findHost(ctx context.Context) (err error) {
	if r.hasLooked {
		return nil
	}
	if r.hostName, err = r.options.hostName(); err != nil {
		return fmt.Errorf("cannot read the host name: %w; set --host", err)
	}
	found, err := r.service.ProviderList(ctx, client.ProviderFilter{Name: r.hostName})
	if err != nil {
		return err
	}
	if len(found) > 0 && found[0].ParentProviderUUID == nil {
		r.hostRoot = found[0].UUID
	} else if r.options.isHere() {
		return noTreeError{r.hostName}
	}
	r.hasLooked = true
	return nil
}

// findOwner returns the project and the user of the flags, else of Keystone's token, else of the account.
func (r *run) findOwner(ctx context.Context) (client.TokenOwner, error) {
	owner := client.TokenOwner{Project: r.options.project, User: r.options.user}
	if owner.Project != "" && owner.User != "" {
		return owner, nil
	}
	token, err := r.service.TokenOwner(ctx)
	if err != nil {
		return owner, err
	}
	account := ""
	if token.Project == "" || token.User == "" {
		if current, err := user.Current(); err == nil {
			account = current.Username
		}
	}
	for _, part := range []struct {
		field *string
		token string
		flag  string
	}{{&owner.Project, token.Project, "project"}, {&owner.User, token.User, "user"}} {
		for _, value := range []string{part.token, account} {
			if *part.field == "" {
				*part.field = value
			}
		}
		if *part.field == "" {
			return owner, fmt.Errorf("neither the token nor the account has a %s; set --%s", part.flag, part.flag)
		}
	}
	return owner, nil
}

// restricted returns the queries, restricted to the tree of this host unless --anywhere or --in-tree names others.
func (r *run) restricted() []client.CandidateQuery {
	if r.options.anywhere || r.hostRoot == uuid.Nil {
		return r.queries
	}
	var here []client.CandidateQuery
	for _, query := range r.queries {
		query.Groups = append([]client.GroupQuery{}, query.Groups...)
		if query.InTree == "" {
			if query.Resources != "" {
				query.InTree = r.hostRoot.String()
			}
			for i := range query.Groups {
				if group := &query.Groups[i]; group.Resources != "" && group.InTree == "" {
					group.InTree = r.hostRoot.String()
				}
			}
		}
		here = append(here, query)
	}
	return here
}
