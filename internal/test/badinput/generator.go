package badinput

import (
	"math/rand/v2"
	"net/http"
	"strings"
)

// Generator draws requests to both APIs. They depend only on the seed and on the documents of this build.
type Generator struct {
	dice dice
	all  [][]operation
	own  *strings.Replacer
}

// Request is one random request.
type Request struct {
	// Operation is the method and the path of the operation in the documents, even if the request has another method.
	Operation string
	// Scene are requests that create the resources of this one; most requests have none.
	Scene [][]byte
	// Wire are the bytes of the request.
	Wire []byte
}

// NewGenerator returns the generator of the first sender.
func NewGenerator(seed uint64) (*Generator, error) {
	all, err := readOnce()
	if err != nil {
		return nil, err
	}
	return &Generator{dice: dice{rand.New(rand.NewPCG(seed, 0))}, all: byName(all), own: ownIDs(0)}, nil
}

// Next draws a request.
func (g *Generator) Next() Request {
	m := g.dice.make(pick(g.dice, pick(g.dice, g.all)))
	made := Request{Operation: m.of.name()}
	if m.scene != nil {
		for _, consumer := range consumers { // they would hold the providers of the scene
			made.Scene = append(made.Scene, step{http.MethodDelete, "/allocations/" + consumer, ""}.wire())
		}
		for _, one := range m.scene {
			made.Scene = append(made.Scene, step{one.method, g.own.Replace(one.target), g.own.Replace(one.body)}.wire())
		}
		m.target, m.body = g.own.Replace(m.target), []byte(g.own.Replace(string(m.body)))
	}
	made.Wire = m.wire()
	return made
}

// Operations returns the number of operations.
func (g *Generator) Operations() int { return len(g.all) }

// Setup is a request, or an SQL statement, that creates resources of the random requests.
type Setup struct {
	Wire []byte
	SQL  string
}

// Setups returns what creates the resources of the random requests. It is repeatable, and creates deleted ones again.
func Setups() (all []Setup) {
	for _, one := range furnishing {
		if one.method == "" {
			all = append(all, Setup{SQL: one.body})
		} else {
			all = append(all, Setup{Wire: one.wire()})
		}
	}
	return all
}

// Conductors returns the host names of the conductors that must be registered, and the driver of each. Only the first one
// runs.
func Conductors() (hostnames, ofDrivers []string) { return conductors, drivers }

func (s step) wire() []byte {
	m := s.message()
	return m.wire()
}
