package candidates

import "context"

// ordinary measures a row beside F, and its other measurements. A failure is a result
// too; only an interruption ends the run.
func (b *bench) ordinary(ctx context.Context, s *cloudDB, of query, at utilization, free int) error {
	about := result{Trees: s.trees, Used: at.String(), singleSize: s.shape.trees > 0}.of(of)
	repeat, err := b.check(ctx, s, of, free, &about)
	if err != nil {
		b.results = append(b.results, about.as(latency).failed(err))
		return ctx.Err()
	}
	b.results = append(b.results, b.compareToBaseline(ctx, s, of, about, free, repeat))
	if of.clients {
		b.results = append(b.results, b.measureThroughput(ctx, s, of, about, repeat))
	}
	return ctx.Err()
}

// compareToBaseline compares a query with F.
func (b *bench) compareToBaseline(ctx context.Context, s *cloudDB, of query, about result, free int, repeat repeats) result {
	about = about.as(latency)
	if err := about.count(ctx, s, of, free, repeat); err != nil {
		return about.failed(err)
	}
	all, err := b.alternate(ctx, 1, repeat, s.contenders(of, s.f()))
	if err != nil {
		return about.failed(err)
	}
	return about.with(all, all[1].multiples(all[0]))
}

// count counts the round trips of each program, and measures its memory if the query
// asks for that. It prints what is the same in each round.
func (r *result) count(ctx context.Context, s *cloudDB, of query, free int, repeat repeats) error {
	for i, one := range s.all {
		into := r.program(i)
		var err error
		if into.RoundTrips, err = one.roundTrips(ctx, of, repeat.warmUps); err != nil {
			return err
		}
		if of.memory {
			if _, into.PeakMB, err = one.peak(ctx, of, free); err != nil {
				return err
			}
		}
	}
	return r.printFacts()
}

// program returns where the figures of a program belong: 0 is the measured one, 1 that of
// --against.
func (r *result) program(number int) *measurement {
	if number == 0 {
		return &r.measurement
	}
	if r.Against == nil {
		r.Against = &measurement{}
	}
	return r.Against
}

// measureThroughput compares the throughputs of several clients.
func (b *bench) measureThroughput(ctx context.Context, s *cloudDB, of query, about result, repeat repeats) result {
	about = about.as(throughput)
	all, err := b.alternate(ctx, manyClients, repeat, s.contenders(of, s.f()))
	if err != nil {
		return about.failed(err)
	}
	return about.with(all, all[1].shares(all[0]))
}

// unlimited compares all candidates with F, and with one pass over their rows.
func (b *bench) unlimited(ctx context.Context, s *cloudDB, of query) []result {
	about := result{Kind: noLimit, Trees: s.trees, Used: utilization{}.String()}.of(of)
	of.memory = true
	repeat, err := b.check(ctx, s, of, s.trees, &about)
	if err != nil {
		return []result{about.failed(err)}
	}
	repeat.warmUps = 0 // its size makes up for it
	if err := about.count(ctx, s, of, s.trees, repeat); err != nil {
		return []result{about.failed(err)}
	}
	rows, err := s.readingRows(ctx, about.Bytes)
	if err != nil {
		return []result{about.failed(err)}
	}
	all, err := b.alternate(ctx, 1, repeat, s.contenders(of, s.f(), rows))
	if err != nil {
		return []result{about.failed(err)}
	}
	f, besideRows := all[:1:1], all[1:]
	return []result{
		about.as(latency).with(append(f, all[2:]...), all[2].multiples(all[0])),
		about.as(noLimit).with(besideRows, all[2].multiples(all[1])),
	}
}

// measureMemory measures the peak memory of a request and nothing else.
func (b *bench) measureMemory(ctx context.Context, s *cloudDB, of query) result {
	about := result{Trees: s.trees, Used: utilization{}.String(), singleSize: true}.of(of).as(memory)
	for i, one := range s.all {
		into := about.program(i)
		var err error
		if into.Bytes, into.PeakMB, err = one.peak(ctx, of, s.trees); err != nil {
			return about.failed(err)
		}
	}
	about.Candidates = of.expected(s.trees)
	if err := about.printFacts(); err != nil {
		return about.failed(err)
	}
	return about
}
