package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/berthd/berth/internal/test/badinput"
)

// repeatableRows keeps the background writer of explanations, which writes once a second, from adding rows that the next
// responses may contain or not. It also replaces the UUIDs that the server generates, by which lists are sorted: all UUIDs in
// requests have another end.
const repeatableRows = `
	CREATE FUNCTION ignore_record() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RETURN CASE WHEN current_setting('application_name') LIKE 'berth%' THEN NULL ELSE new END; END $$;
	CREATE TRIGGER ignore_record BEFORE INSERT ON explanations FOR EACH ROW EXECUTE FUNCTION ignore_record();
	CREATE TRIGGER ignore_record BEFORE INSERT ON explanation_requests FOR EACH ROW EXECUTE FUNCTION ignore_record();
	CREATE FUNCTION replace_uuid() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF new.uuid::text NOT LIKE '%-8000-0000000000__' THEN new.uuid := gen_random_uuid(); END IF;
		RETURN new;
	END $$;
	CREATE TRIGGER replace_uuid BEFORE INSERT ON nodes FOR EACH ROW EXECUTE FUNCTION replace_uuid();
	CREATE TRIGGER replace_uuid BEFORE INSERT ON ports FOR EACH ROW EXECUTE FUNCTION replace_uuid()`

// refill is the number of requests after which deleted resources are created again.
const refill = 200

// badinput sends random requests to both APIs.
func (c *comparison) badinput(ctx context.Context) (err error) {
	generator, err := badinput.NewGenerator(c.seed)
	if err != nil {
		return err
	}
	hostnames, drivers := badinput.Conductors()
	p, err := c.start(ctx, map[string]string{
		"baremetal-backend": "database", "baremetal-hostname": hostnames[0], "baremetal-heartbeat-timeout": "24h",
		"baremetal-takeover-interval": "0s", "cors-allowed-origin": "https://a.example", "explain-keep": "24h", "explain-rate": "0",
		"allocation-candidates-max-combinations": "100000",
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop(ctx)) }()
	const register = "INSERT INTO conductors (hostname, drivers) VALUES ($1, $2)"
	if err := errors.Join(p.execute(ctx, repeatableRows), p.execute(ctx, register, hostnames[1], drivers[1:])); err != nil {
		return err
	}
	succeeded := map[string]bool{}
	for i := range c.requests {
		if i%refill == 0 {
			if err := p.furnish(ctx, i == 0); err != nil {
				return err
			}
		}
		request := generator.Next()
		var last *response
		for _, wire := range append(request.Scene, request.Wire) {
			if last, _, err = p.send(ctx, fmt.Sprintf("badinput request %d of seed %d", i, c.seed), wire, wire); err != nil {
				return err
			}
		}
		succeeded[request.Operation] = succeeded[request.Operation] || last.status/100 == 2
	}
	count := 0
	for _, success := range succeeded {
		if success {
			count++
		}
	}
	c.note("%d requests and their scenes; %d of %d operations succeeded", c.requests, count, generator.Operations())
	return nil
}

// furnish creates the resources of the requests, and compares the responses too. The first time all must succeed.
func (p *pair) furnish(ctx context.Context, isFirst bool) error {
	for _, setup := range badinput.Setups() {
		if setup.SQL != "" {
			if err := p.execute(ctx, setup.SQL); err != nil {
				return err
			}
			continue
		}
		old, _, err := p.send(ctx, "badinput resources", setup.Wire, setup.Wire)
		if err != nil {
			return err
		}
		if isFirst && old.status >= http.StatusBadRequest {
			return fmt.Errorf("the old build cannot create the resources of the requests: %s", old.text())
		}
	}
	return nil
}
