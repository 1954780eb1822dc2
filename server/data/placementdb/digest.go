package placementdb

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

// digest is a hash of rows that does not depend on their order: the sum of their hashes, with 128 bits. A
// row can be added several times at once, so that an amount split over several rows has the same digest as
// their sum.
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

// amount adds a used amount; rows is then the sum of all amounts.
func (d *digest) amount(hash rowHash, used int64) {
	d.rows += used
	d.addTimes(hash, used)
}

// String returns the same text for the same set of rows.
func (d digest) String() string { return fmt.Sprintf("%016x%016x", d.high, d.lo) }

type rowHash struct{ high, lo uint64 }

// hashOf returns the hash of one row. A byte that no text contains separates the values.
func hashOf(cells ...any) rowHash {
	text := make([]byte, 0, 256)
	for _, cell := range cells {
		text = append(appendCell(text, cell), 0)
	}
	sum := sha256.Sum256(text)
	return rowHash{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}

// appendCell encodes a value in the format that source and target share.
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

// digests contains the digest of each table by name, and one without a table: the used amounts of each
// class on each provider.
type digests map[string]*digest

const usageSums = "usage_sums"

func (d digests) of(name string) *digest {
	if d[name] == nil {
		d[name] = &digest{}
	}
	return d[name]
}

// texts returns the digests to store in import_state, with the start of the import, which is the time of
// rows that have none. It omits names, because a server may have added some.
func (d digests) texts(began time.Time) map[string]string {
	kept := map[string]string{"began_at": began.Format(time.RFC3339Nano)}
	for _, name := range digestNames {
		digest := d.of(name)
		if name != "traits" && name != "resource_classes" {
			kept[name] = digest.String()
		}
	}
	return kept
}

// differences returns the names of the tables whose digests differ.
func (d digests) differences(other digests) []string {
	var names []string
	for _, name := range digestNames {
		if *d.of(name) != *other.of(name) {
			names = append(names, name)
		}
	}
	return names
}

// digestNames is the order of tables in reports.
var digestNames = []string{
	"resource_classes", "traits", "aggregates", "projects", "users", "consumer_types", "resource_providers",
	"provider_traits", "provider_aggregates", "inventories", "consumers", "allocations", usageSums,
}

// distinct counts distinct values with eight bytes for each.
type distinct struct{ seen []uint64 }

func (d *distinct) add(hash rowHash) { d.seen = append(d.seen, hash.lo) }

func (d *distinct) count() int64 {
	slices.Sort(d.seen)
	return int64(len(slices.Compact(d.seen)))
}
