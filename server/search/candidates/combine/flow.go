package combine

// flow is a transport problem: each source has an amount for some of the cells, possibly split, and each cell accepts a
// limited amount. It finds a maximum flow along shortest augmenting paths. All amounts are integers, so if every
// requirement is one unit, none is split, and the result is exact.
type flow struct {
	need []int64
	// The edges of source i are from ends[i-1] to ends[i].
	edges, ends []int32
	// Cells are numbered in the order of their first edge: number is valid if seen is the current pass.
	number []int32
	seen   []int
	pass   int
	room   []int64
	// sent is the flow by cell and source.
	sent []int64

	// A path goes from a source to a cell, back to a source that can use another cell, and so on. These are, for each
	// source on the path, the source and the cell before it.
	queue     []int32
	from, via []int32
	passed    []bool
}

// reset prepares for cells with numbers below cells.
func (f *flow) reset(cells int) {
	f.number, f.seen = sized(f.number, cells), sized(f.seen, cells)
	clear(f.seen)
	f.pass = 0
}

// begin starts a new problem.
func (f *flow) begin() {
	f.pass++
	f.need, f.edges, f.ends, f.room = f.need[:0], f.edges[:0], f.ends[:0], f.room[:0]
}

// source adds a source. The edges that follow belong to it.
func (f *flow) source(need int64) {
	f.need = append(f.need, need)
	f.ends = append(f.ends, int32(len(f.edges)))
}

// edge lets the newest source send to a cell. The room of a cell is the same in all calls.
func (f *flow) edge(cell int32, room int64) {
	if f.seen[cell] != f.pass {
		f.seen[cell] = f.pass
		f.number[cell] = int32(len(f.room))
		f.room = append(f.room, room)
	}
	f.edges = append(f.edges, f.number[cell])
	f.ends[len(f.ends)-1] = int32(len(f.edges))
}

// satisfiable reports whether all sources can send their whole amount.
func (f *flow) satisfiable() bool {
	sources := len(f.need)
	f.sent = sized(f.sent, sources*len(f.room))
	clear(f.sent)
	f.from, f.via = sized(f.from, sources), sized(f.via, sources)
	f.passed = sized(f.passed, len(f.room))
	for source := range f.need {
		for f.need[source] > 0 {
			last, cell := f.search(int32(source))
			if last < 0 {
				return false
			}
			f.augment(int32(source), last, cell)
		}
	}
	return true
}

// search finds a path from a source to a cell with free capacity. It returns the last source of the path, and the cell;
// -1 if there is none.
func (f *flow) search(start int32) (last, cell int32) {
	sources := len(f.need)
	for i := range f.from {
		f.from[i] = -1
	}
	clear(f.passed)
	f.from[start] = start
	f.queue = append(f.queue[:0], start)
	for head := 0; head < len(f.queue); head++ {
		source := f.queue[head]
		for _, cell := range f.targets(source) {
			if f.passed[cell] {
				continue
			}
			f.passed[cell] = true
			if f.room[cell] > 0 {
				return source, cell
			}
			for other, sent := range f.sent[int(cell)*sources : (int(cell)+1)*sources] {
				if sent > 0 && f.from[other] < 0 {
					f.from[other], f.via[other] = source, cell
					f.queue = append(f.queue, int32(other))
				}
			}
		}
	}
	return -1, -1
}

// targets returns the cells that a source may send to.
func (f *flow) targets(source int32) []int32 {
	from := int32(0)
	if source > 0 {
		from = f.ends[source-1]
	}
	return f.edges[from:f.ends[source]]
}

// augment sends as much as possible along the path that search found.
func (f *flow) augment(start, last, cell int32) {
	sources := int32(len(f.need))
	amount := min(f.need[start], f.room[cell])
	for at := last; at != start; at = f.from[at] {
		amount = min(amount, f.sent[f.via[at]*sources+at])
	}
	f.need[start] -= amount
	f.room[cell] -= amount
	for at := last; ; at = f.from[at] {
		f.sent[cell*sources+at] += amount
		if at == start {
			return
		}
		cell = f.via[at]
		f.sent[cell*sources+at] -= amount
	}
}
