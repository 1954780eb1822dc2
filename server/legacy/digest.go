package legacy

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// digest is a hash of rows in any order: the sum of their hashes, of 128 bits. A row
// can be added several times at once, so that amounts that were split give the same
// digest as their sum.
type digest struct {
	rows     int64
	high, lo uint64
}

func (d *digest) add(hash rowHash) { d.addTimes(hash, 1) }

func (d *digest) addTimes(hash rowHash, times int64) {
	n := uint64(times)
	carry, low := bits.Mul64(hash.lo, n)
	var over uint64
	d.lo, over = bits.Add64(d.lo, low, 0)
	d.high += hash.high*n + carry + over
}

// amount adds what is used of something; the rows are then the sum of all.
func (d *digest) amount(hash rowHash, used int64) {
	d.rows += used
	d.addTimes(hash, used)
}

// String is equal for equal rows.
func (d digest) String() string { return fmt.Sprintf("%016x%016x", d.high, d.lo) }

type rowHash struct{ high, lo uint64 }

// hashOf is the hash of one row. Cells are separated by a byte that no text has.
func hashOf(cells ...any) rowHash {
	text := make([]byte, 0, 256)
	for _, cell := range cells {
		text = append(appendCell(text, cell), 0)
	}
	sum := sha256.Sum256(text)
	return rowHash{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}

// appendCell writes a value in the one way that both sides share.
func appendCell(text []byte, cell any) []byte {
	switch v := cell.(type) {
	case nil:
		return append(text, 1)
	case string:
		return append(text, v...)
	case uuid.UUID:
		return append(text, v[:]...)
	case int:
		return strconv.AppendInt(text, int64(v), 10)
	case int32:
		return strconv.AppendInt(text, int64(v), 10)
	case int64:
		return strconv.AppendInt(text, v, 10)
	case *int64:
		if v == nil {
			return append(text, 1)
		}
		return strconv.AppendInt(text, *v, 10)
	case float64:
		return strconv.AppendFloat(text, v, 'g', -1, 64)
	case *string:
		if v == nil {
			return append(text, 1)
		}
		return append(text, *v...)
	case *uuid.UUID:
		if v == nil {
			return append(text, 1)
		}
		return append(text, v[:]...)
	case *id:
		if v == nil {
			return append(text, 1)
		}
		return appendCell(append(text, v.uuid[:]...), v.spelled)
	case *time.Time:
		if v == nil {
			return append(text, 1)
		}
		return strconv.AppendInt(text, v.UnixMicro(), 10)
	}
	panic(fmt.Sprintf("a cell of type %T", cell))
}

// digests are those of all tables, by name, with one that has no table: what is used
// of each provider's class in all.
type digests map[string]*digest

const usageSums = "usage sums"

func (d digests) of(name string) *digest {
	if d[name] == nil {
		d[name] = &digest{}
	}
	return d[name]
}

// texts is what is kept in the books: with when the import began, whose rows without a
// time have that one. Names are left out: a server may have added some.
func (d digests) texts(began time.Time) map[string]string {
	kept := map[string]string{"began_at": began.Format(time.RFC3339Nano)}
	for _, name := range digestNames {
		one := d.of(name)
		if name != "traits" && name != "resource_classes" {
			kept[name] = one.String()
		}
	}
	return kept
}

// differences names the tables in which two sides differ.
func (d digests) differences(other digests) []string {
	var names []string
	for _, name := range digestNames {
		if *d.of(name) != *other.of(name) {
			names = append(names, name)
		}
	}
	return names
}

// digestNames is the order in which reports show them.
var digestNames = []string{
	"resource_classes", "traits", "aggregates", "projects", "users", "consumer_types", "resource_providers",
	"provider_traits", "provider_aggregates", "inventories", "consumers", "allocations", usageSums,
}

// distinct counts different values among many with eight bytes for each.
type distinct struct{ seen []uint64 }

func (d *distinct) add(hash rowHash) { d.seen = append(d.seen, hash.lo) }

func (d *distinct) count() int64 {
	slices.Sort(d.seen)
	return int64(len(slices.Compact(d.seen)))
}
