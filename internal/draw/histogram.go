package draw

// HistogramBar returns a horizontal bar of a histogram or funnel: value of whole, and the track up to the previous value,
// so that each row of a funnel shows what its step removes. kind is that of a piece. The bar is hidden from screen readers,
// because the number is beside it.
func HistogramBar(width, height int, value, previous, whole float64, kind string) string {
	f := newFragment("bar", width, height, "")
	if whole > 0 {
		scale := float64(width) / whole
		if track := min(previous, whole) * scale; track > 0 {
			f.rect("f-track", 0, 0, track, float64(height), 2)
		}
		if filled := min(max(value, 0), whole) * scale; filled > 0 {
			f.rect("f-"+kind, 0, 0, max(filled, 2), float64(height), 2)
		}
	}
	return f.end()
}

// Share returns a bar that is divided among amounts, for example the states of nodes.
func Share(width, height int, pieces []Piece, label string) string {
	f := newFragment("bar", width, height, label)
	whole := 0.0
	for _, piece := range pieces {
		whole += max(piece.Amount, 0)
	}
	x := 0.0
	for _, piece := range pieces {
		length := max(piece.Amount, 0) / max(whole, 1) * float64(width)
		if length > 0 {
			f.rect("f-"+piece.Kind, x, 0, max(length-1, 1), float64(height), 1)
		}
		x += length
	}
	return f.end()
}
