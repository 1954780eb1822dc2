package model

import (
	"math"
	"net/http"
)

// overReserved is the rule that each inventory has a capacity of at least an integer.
func (c *Checks) overReserved(p int, of Inventories, least int32) {
	c.at(p, OverReserved, None, func(*Provider) bool {
		for class := range of {
			if of[class].Total != 0 && math.Trunc(of[class].Capacity()) < float64(least) {
				return true
			}
		}
		return false
	})
	c.next()
}

func (c *Checks) haveClasses(of Inventories) {
	c.all(NoClass, func(s *State) bool { return s.lacksClass(of) })
	c.next()
}

// ReplaceInventories is PUT /resource_providers/{provider}/inventories, and DELETE without inventories.
type ReplaceInventories struct {
	At          int
	Given       int64 // None: not compared
	Inventories Inventories
	Least       int32
	IsDelete    bool
}

// Judge implements Operation.
func (w ReplaceInventories) Judge(c *Checks) {
	c.known(w.At, w.Given)
	c.overReserved(w.At, w.Inventories, w.Least)
	c.haveClasses(w.Inventories)
	c.at(w.At, InUse, None, func(now *Provider) bool { return now.inUse(w.Inventories) })
	c.next()
	c.change(w.At, func(now *Provider) {
		now.Generation++
		now.Inventories = w.Inventories
	})
	c.mustShow(w.At, func(now *Provider, o *Observed) bool { return now.Inventories == o.Inventories })
}

// ChangeInventory is POST /resource_providers/{provider}/inventories, PUT …/{class} or DELETE …/{class}, depending on its
// method.
type ChangeInventory struct {
	At        int
	Method    string
	Class     int
	Given     int64     // None: not compared
	Inventory Inventory // not of DELETE
	Least     int32
}

// Judge implements Operation.
func (w ChangeInventory) Judge(c *Checks) {
	c.at(w.At, ProviderNotFound, None, func(now *Provider) bool { return !now.Exists })
	c.next()
	var written Inventories
	written[w.Class] = w.Inventory
	isOffered := func(now *Provider) bool { return now.Inventories[w.Class].Total > 0 }
	isMissing := func(now *Provider) bool { return !isOffered(now) }
	switch w.Method {
	case http.MethodPost, http.MethodPut:
		c.current(w.At, w.Given)
		c.overReserved(w.At, written, w.Least)
		c.haveClasses(written)
		if w.Method == http.MethodPost {
			c.at(w.At, InventoryExists, None, isOffered)
		} else {
			c.at(w.At, NoInventory, None, isMissing)
		}
		c.next()
	case http.MethodDelete:
		c.at(w.At, NoInventory, None, isMissing)
		c.next()
		c.current(w.At, w.Given)
		c.at(w.At, InUse, None, func(now *Provider) bool { return now.Used(w.Class) > 0 })
		c.next()
	}
	c.change(w.At, func(now *Provider) {
		now.Generation++
		now.Inventories[w.Class] = w.Inventory
	})
	c.mustShow(w.At, func(now *Provider, o *Observed) bool { return now.Inventories[w.Class] == o.Inventories[w.Class] })
}
