package draw

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// StateEdge is a transition between provision states. Verb is empty for the end of the work of a transient state;
// Failed means that the work failed.
type StateEdge struct {
	From, Verb, To string
	Failed         bool
}

// statePlaces has the column and row of each provision state. No edge crosses another one or a state.
var statePlaces = map[string][2]int{
	"enroll": {0, 0}, "verifying": {1, 0}, "adopt failed": {2, 0}, "adopting": {3, 0},
	"inspecting": {1, 1}, "manageable": {2, 1}, "available": {4, 1}, "deploying": {5, 1},
	"inspect failed": {1, 2}, "clean failed": {2, 2}, "cleaning": {3, 2}, "deploy failed": {4, 2}, "error": {5, 2}, "active": {6, 2},
	"deleting": {5, 3},
}

// Dimensions of the picture of states in pixels.
const (
	stateWidth, stateHeight  = 96, 26
	stateColumn, stateRow    = 128, 62
	stateColumns, stateRows  = 7, 4
	stateMargin              = 4
	arrowLength, arrowSpread = 7.0, 3.5
)

// States returns the diagram of provision states at fixed places. It marks the current state and the edges from it. It
// omits states without a place, which no node of Berth enters.
func States(states []string, edges []StateEdge, current string) string {
	f := newFragment("states", stateColumn*(stateColumns-1)+stateWidth+2*stateMargin, stateRow*(stateRows-1)+stateHeight+2*stateMargin,
		statesLabel(edges, current))
	both := map[[2]string]bool{}
	for _, edge := range edges {
		both[[2]string{edge.From, edge.To}] = true
	}
	drawn := map[[2]string]bool{}
	for _, marked := range []bool{false, true} { // marked edges lie above the others
		for _, edge := range edges {
			pair := [2]string{edge.From, edge.To}
			if (edge.From == current) != marked || drawn[pair] {
				continue
			}
			drawn[pair] = true
			f.stateEdge(edge, both[[2]string{edge.To, edge.From}], marked)
		}
	}
	for _, state := range states {
		place, ok := statePlaces[state]
		if !ok {
			continue
		}
		x, y := stateCenter(place)
		class := ""
		if state == current {
			class = ` class="now"`
		}
		fmt.Fprintf(f, `<g%s><rect x="%s" y="%s" width="%d" height="%d" rx="6"/><text x="%s" y="%s">%s</text></g>`, class,
			decimal(x-stateWidth/2), decimal(y-stateHeight/2), stateWidth, stateHeight, decimal(x), decimal(y+4), markup(state))
	}
	return f.end()
}

// statesLabel describes the picture for screen readers.
func statesLabel(edges []StateEdge, current string) string {
	label := "Provision states of nodes"
	if current == "" {
		return label
	}
	label += ". The node is in state " + current
	var next []string
	for _, edge := range edges {
		if edge.From == current {
			next = append(next, edge.To+" ("+cmp.Or(edge.Verb, outcome(edge.Failed))+")")
		}
	}
	if len(next) > 0 {
		label += "; next states: " + strings.Join(next, ", ")
	}
	return label
}

func outcome(failed bool) string {
	if failed {
		return "failure"
	}
	return "success"
}

func stateCenter(place [2]int) (x, y float64) {
	return stateMargin + stateWidth/2 + float64(place[0]*stateColumn), stateMargin + stateHeight/2 + float64(place[1]*stateRow)
}

// stateEdge draws an edge with an arrowhead between the borders of two states. An edge with an opposite one is moved to
// its right-hand side. An edge to a distant column goes along its row, and then down.
func (f *fragment) stateEdge(edge StateEdge, opposite, marked bool) {
	from, ok := statePlaces[edge.From]
	to, known := statePlaces[edge.To]
	if !ok || !known || from == to {
		return
	}
	x1, y1 := stateCenter(from)
	x2, y2 := stateCenter(to)
	if to[0]-from[0] > 2 && to[1] > from[1] {
		y2 -= stateHeight/2 + 1.5
		f.arrow(edge, marked, fmt.Sprintf("M%s %sH%sQ%s %s %s %sV%s", decimal(x1+stateWidth/2), decimal(y1), decimal(x2-12),
			decimal(x2), decimal(y1), decimal(x2), decimal(y1+12), decimal(y2)), x2, y2, math.Pi/2)
		return
	}
	length := math.Hypot(x2-x1, y2-y1)
	dx, dy := (x2-x1)/length, (y2-y1)/length
	movedX, movedY := 0.0, 0.0
	if opposite {
		movedX, movedY = -5*dy, 5*dx
	}
	start, end := borderDistance(dx, dy, movedX, movedY), borderDistance(-dx, -dy, movedX, movedY)+1.5
	x1, y1, x2, y2 = x1+movedX+dx*start, y1+movedY+dy*start, x2+movedX-dx*end, y2+movedY-dy*end
	f.arrow(edge, marked, fmt.Sprintf("M%s %sL%s %s", decimal(x1), decimal(y1), decimal(x2), decimal(y2)), x2, y2, math.Atan2(dy, dx))
}

// borderDistance returns the distance to the border of a state in a direction, from a point near its center.
func borderDistance(dx, dy, x, y float64) float64 {
	distance := math.Inf(1)
	if dx != 0 {
		distance = (stateWidth/2 - math.Copysign(x, x*dx)) / math.Abs(dx)
	}
	if dy != 0 {
		distance = min(distance, (stateHeight/2-math.Copysign(y, y*dy))/math.Abs(dy))
	}
	return distance
}

// arrow draws a line and an arrowhead at its end, in the direction of the angle.
func (f *fragment) arrow(edge StateEdge, marked bool, steps string, x, y, angle float64) {
	var classes []string
	if marked {
		classes = append(classes, "next")
	}
	if edge.Failed {
		classes = append(classes, "fail")
	}
	f.path(strings.Join(classes, " "), steps)
	sin, cos := math.Sincos(angle)
	point := func(back, side float64) string {
		return decimal(x-back*cos-side*sin) + "," + decimal(y-back*sin+side*cos)
	}
	head := strings.Join([]string{point(0, 0), point(arrowLength, arrowSpread), point(arrowLength, -arrowSpread)}, " ")
	class := ""
	if marked {
		class = ` class="next"`
	}
	fmt.Fprintf(f, `<polygon%s points="%s"/>`, class, head)
}
