package placementdb

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// Anomaly is a kind of data in a source that Berth cannot store, or that behaves differently in Berth,
// with the number of cases.
type Anomaly struct {
	Kind string `json:"kind"`
	// Description states the anomaly, Action what the import does about it.
	Description string `json:"description"`
	Action      string `json:"action"`
	// Loses reports that Berth does not store some data of the source, or not under its name. --strict
	// rejects it.
	Loses bool `json:"loses_data"`
	// Refused reports that the import fails.
	Refused bool  `json:"refused"`
	Count   int64 `json:"count"`
	// Examples are the first cases; the report file contains all of them.
	Examples []json.RawMessage `json:"examples"`
}

const (
	severityInfo     = 0
	severityDataLoss = 1
	severityFatal    = 2
)

// AnomalyKinds returns all anomalies that an import detects, in the order of reports. The kinds are those
// that sql/queries/import_validate.sql records.
func AnomalyKinds() []Anomaly {
	var all []Anomaly
	add := func(kind string, weight int, what, done string) {
		all = append(all, Anomaly{Kind: kind, Description: what, Action: done, Loses: weight == severityDataLoss, Refused: weight == severityFatal})
	}
	add("provider-uuid-twice", severityFatal, "several providers have one uuid in different spellings", "rejected: change one of them in the source")
	add("provider-uuid-invalid", severityDataLoss, "the uuid of a provider is not a UUID", "kept under a UUID derived from its hash")
	add("provider-uuid-spelling", severityInfo, "the uuid of a provider is not in canonical form", "stored in canonical form; requests may use any spelling")
	add("provider-name-missing", severityInfo, "a provider has no name", "its uuid is its name")
	add("provider-name-case", severityInfo, "names of providers differ only in case", "kept: Berth treats them as different names")
	add("provider-generation-missing", severityInfo, "a provider has no generation", "0")
	add("provider-parent-missing", severityDataLoss, "the parent of a provider does not exist", "the provider is a root")
	add("provider-parent-cycle", severityDataLoss, "a provider is its own ancestor", "the provider with the lowest id of the cycle becomes the root")
	add("provider-root-missing", severityInfo, "a provider has no root, which hides it from OpenStack Placement", "its topmost ancestor")
	add("provider-root-wrong", severityInfo, "the root of a provider is not its topmost ancestor", "its topmost ancestor")
	add("provider-trait-orphan", severityDataLoss, "a trait or provider of an association does not exist", "skipped")
	add("provider-aggregate-orphan", severityDataLoss, "an aggregate or provider of a membership does not exist", "skipped")
	add("aggregate-uuid-missing", severityDataLoss, "an aggregate has no uuid", "skipped")
	add("aggregate-uuid-invalid", severityDataLoss, "the uuid of an aggregate is not a UUID", "kept under a UUID derived from its hash")
	add("aggregate-uuid-spelling", severityInfo, "the uuid of an aggregate is not in canonical form", "stored in canonical form; requests may use any spelling")
	add("aggregate-uuid-twice", severityInfo, "several aggregates have one uuid in different spellings", "merged into one aggregate with all members")
	add("class-number", severityInfo, "a resource class has another id in Berth", "mapped by name")
	add("class-name", severityInfo, "the name of a resource class has characters other than A-Z, 0-9 and _", "kept")
	add("class-standard", severityInfo, "a resource class is neither custom nor a standard one of this berth", "kept")
	add("class-case", severityInfo, "names of resource classes differ only in case", "kept: Berth treats them as different names")
	add("trait-name", severityInfo, "the name of a trait has characters other than A-Z, 0-9 and _", "kept")
	add("trait-standard", severityInfo, "a trait is neither custom nor a standard one of this berth", "kept")
	add("trait-case", severityInfo, "names of traits differ only in case", "kept: Berth treats them as different names")
	add("inventory-orphan", severityDataLoss, "the provider or class of an inventory does not exist", "skipped")
	add("inventory-bounds", severityDataLoss, "a value of an inventory is out of range", "set to the nearest valid value; an inventory without capacity stays without: all of it is reserved")
	add("inventory-overcommitted", severityInfo, "an inventory is over capacity", "kept: claims fail until usage is below capacity")
	add("allocation-orphan", severityDataLoss, "the inventory of an allocation does not exist", "skipped")
	add("allocation-empty", severityDataLoss, "the amount of an allocation is 0 or less", "skipped")
	add("allocation-twice", severityInfo, "a consumer has several allocations of one class of a provider", "merged into one with the sum of the amounts")
	add("consumer-missing", severityInfo, "the consumer of allocations has no record, which hides them from OpenStack Placement", "created with the incomplete project and user and generation 1")
	add("consumer-uuid-twice", severityDataLoss, "several consumers have one uuid in different spellings", "merged into the consumer with the lowest id")
	add("consumer-uuid-invalid", severityDataLoss, "the uuid of a consumer is not a UUID", "kept under a UUID derived from its hash")
	add("consumer-uuid-spelling", severityInfo, "the uuid of a consumer is not in canonical form", "stored in canonical form; requests may use any spelling")
	add("consumer-generation", severityInfo, "a consumer with allocations has a generation below 1", "set to 1, the generation after the first allocation")
	add("consumer-idle", severityInfo, "a consumer has no allocations", "skipped: Berth deletes a consumer together with its last allocation")
	add("consumer-project-missing", severityDataLoss, "the project of a consumer does not exist", "the incomplete project")
	add("consumer-user-missing", severityDataLoss, "the user of a consumer does not exist", "the incomplete user")
	add("consumer-type-missing", severityDataLoss, "the type of a consumer does not exist", "unknown")
	add("owner-case", severityInfo, "names of projects or users differ only in case", "kept: Berth treats them as different names")
	add("time-missing", severityInfo, "rows have no creation time", "the time of the import")
	add("time-unreadable", severityDataLoss, "a time is not in the format of OpenStack Placement", "treated as missing")
	return all
}

// examples is the maximum number of cases of a kind in the report.
const examples = 3

// readAnomalies returns the anomalies that the import recorded, and writes all cases to file, one JSON
// object a line, unless file is nil.
func readAnomalies(ctx context.Context, tx pgx.Tx, file io.Writer) ([]Anomaly, error) {
	counted, err := db.New().ImportAnomalyCount(ctx, tx)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, row := range counted {
		counts[row.Kind] = row.Number
	}
	found := []Anomaly{}
	places := map[string]int{}
	for _, kind := range AnomalyKinds() {
		if counts[kind.Kind] == 0 {
			continue
		}
		kind.Count, kind.Examples = counts[kind.Kind], []json.RawMessage{}
		places[kind.Kind] = len(found)
		found = append(found, kind)
	}
	if len(found) != len(counted) {
		return nil, fmt.Errorf("anomalies of unknown kinds: %v", counts)
	}
	most := int64(examples)
	if file != nil {
		most = 1 << 62
	}
	err = stream(ctx, tx, db.ImportAnomalyList, func(r db.ImportAnomalyListRow) error {
		anomaly := &found[places[r.Kind]]
		if len(anomaly.Examples) < examples {
			anomaly.Examples = append(anomaly.Examples, r.SourceRow)
		}
		if file == nil {
			return nil
		}
		return json.NewEncoder(file).Encode(map[string]any{"kind": r.Kind, "action": anomaly.Action, "row": r.SourceRow})
	}, most)
	return found, err
}
