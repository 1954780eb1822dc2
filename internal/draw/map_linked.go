package draw

import "fmt"

// LinkedSquare is a square of a map that is a link, for example to the tree.
type LinkedSquare struct {
	Square
	Href, Title string
}

// LinkedMap is Map with a link for each square, and its title as a tooltip. The links are hidden from keyboards and screen
// readers, because a list of the same trees is next to the map: pass its sentence to them in the page. A square takes about
// 170 bytes, so it is for at most some thousand squares.
func LinkedMap(squares []LinkedSquare, columns int) string {
	columns = max(columns, 1)
	rows := (len(squares) + columns - 1) / columns
	f := newFragment("map", min(columns, max(len(squares), 1))*mapStep-2, max(rows*mapStep-2, 0), "")
	for i, square := range squares {
		x, y := float64(i%columns*mapStep), float64(i/columns*mapStep)
		fmt.Fprintf(f, `<a href="%s" tabindex="-1"><title>%s</title>`, markup(square.Href), markup(square.Title))
		switch {
		case square.Square < 0:
			f.rect("s-none", x+0.5, y+0.5, mapSquare-1, mapSquare-1, 2)
		case square.Square > 1:
			f.rect("f-over", x, y, mapSquare, mapSquare, 2)
			f.path("s-cut", fmt.Sprintf("M%d %dl4 4m0-4l-4 4", int(x)+4, int(y)+4))
		default:
			f.rect(fmt.Sprintf("h%d", shade(square.Square)), x, y, mapSquare, mapSquare, 2)
		}
		f.WriteString("</a>")
	}
	return f.end()
}
