package store

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Orders of a page of providers.
const (
	ProvidersByCreation     = "created_at"
	ProvidersByCreationDesc = "-created_at"
	ProvidersByName         = "name"
)

const (
	// maxExamined is the number of providers that a page with a limit examines at most.
	maxExamined = 5000
	// noMaximum is more than all providers. It leaves room for 1 more, which the query adds.
	noMaximum = math.MaxInt32
	// maxProviderName is the maximum number of characters of a name.
	maxProviderName = 200
)

// ProviderPage is a page of providers to list.
type ProviderPage struct {
	Filter ProviderFilter
	// Sort is ProvidersByCreation, ProvidersByCreationDesc or ProvidersByName.
	Sort string
	// Search is the beginning of names and UUIDs; it needs ProvidersByName. Empty: all.
	Search string
	// Limit is the maximum number of providers; 0: all.
	Limit int
	// After is the position after which the page begins; nil: the beginning.
	After *ProviderPosition
	// MaxTotal is the maximum number of providers that counting examines; 0: providers are not counted.
	MaxTotal int

	HasInventories, HasTraits, HasAggregates bool
}

// ProviderPosition is a position in the order of a page: the id, the name, or the UUID of a provider. UUID is the
// position of a search among the providers that it finds by their UUIDs only.
type ProviderPosition struct {
	ID   int64
	Name string
	UUID *uuid.UUID
}

// ListedProvider is a provider with its included parts.
type ListedProvider struct {
	Provider
	Inventories []Inventory
	Traits      []string
	Aggregates  []uuid.UUID
}

// ProviderPageRows streams the providers of a page. The zero value is an empty page.
type ProviderPageRows struct {
	ProviderRows
	// Next is the position after which the next page begins; nil: there is none.
	Next *ProviderPosition
	// Total is the number of matching providers among those that counting has examined; TotalExact reports whether it
	// has examined all.
	Total      int
	TotalExact bool

	// isPlain: the rows are those of ProviderList.
	isPlain     bool
	firstListed *ListedProvider
}

// All yields the providers in the order of the page, each as it arrives. An error ends the sequence.
func (r *ProviderPageRows) All() iter.Seq2[ListedProvider, error] {
	return func(yield func(ListedProvider, error) bool) {
		if r.isPlain {
			for provider, err := range r.ProviderRows.All() {
				if !yield(ListedProvider{Provider: provider}, err) {
					return
				}
			}
			return
		}
		for listed := r.firstListed; listed != nil; {
			if !yield(*listed, nil) {
				return
			}
			row, err := r.nextRow()
			if err != nil {
				yield(ListedProvider{}, postgres.StreamError(r.ctx, err))
				return
			}
			listed = listedOf(row)
		}
	}
}

func (r *ProviderPageRows) nextRow() (*db.ProviderPageRow, error) {
	if !r.rows.Next() {
		return nil, r.rows.Err()
	}
	row, err := pgx.RowToStructByPos[db.ProviderPageRow](r.rows)
	return &row, err
}

// listedOf returns the provider of a row; nil if it has none.
func listedOf(row *db.ProviderPageRow) *ListedProvider {
	if row == nil || row.Number == 0 {
		return nil
	}
	listed := &ListedProvider{
		Provider: Provider{UUID: row.Uuid, Name: row.Name, Generation: row.Generation, Parent: one(row.ParentUuid), Root: row.RootUuid},
		Traits:   row.Traits, Aggregates: row.Aggregates,
	}
	for i, class := range row.Classes {
		numbers := row.Numbers[6*i : 6*i+6]
		listed.Inventories = append(listed.Inventories, Inventory{
			Class: class, Total: int32(numbers[0]), Reserved: int32(numbers[1]), MinUnit: int32(numbers[2]), //nolint:gosec // columns of type integer
			MaxUnit: int32(numbers[3]), StepSize: int32(numbers[4]), Used: numbers[5], //nolint:gosec // columns of type integer
			AllocationRatio: row.Ratios[i],
		})
	}
	return listed
}

// ProviderPage starts to list a page of providers. It has read the first row when it returns; the caller closes the
// rows. Names in filters and the number of providers take a transaction, to be of the same snapshot.
func (s *Store) ProviderPage(ctx context.Context, page *ProviderPage) (*ProviderPageRows, error) {
	list := func(conn *postgres.Conn) (*ProviderPageRows, error) { return s.providerPage(ctx, conn, page) }
	if page.isPlain() {
		rows, err := s.ProviderList(ctx, page.Filter)
		if err != nil {
			return nil, err
		}
		return &ProviderPageRows{ProviderRows: *rows, isPlain: true}, nil
	}
	filter := &page.Filter
	if filter.UUID != nil || filter.Name != nil || filter.InTree != nil { // as in ProviderList
		return postgres.OnPrimary(ctx, s.pool, list)
	}
	return postgres.OnReplicaOrPrimary(ctx, s.pool, list)
}

// providerPage lists on a connection, and releases it.
func (s *Store) providerPage(ctx context.Context, conn *postgres.Conn, page *ProviderPage) (listed *ProviderPageRows, err error) {
	end := func() error {
		conn.Release()
		return nil
	}
	if !page.Filter.hasNames() && page.MaxTotal == 0 {
		if listed, err = s.pageRows(ctx, conn, page, page.Filter.params(), end); err != nil {
			_ = end() // the error that matters is err
		}
		return listed, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		_ = end()
		return nil, err
	}
	end = func() error {
		defer conn.Release()
		return tx.Rollback(context.WithoutCancel(ctx))
	}
	filter, empty := page.Filter.params(), false
	if page.Filter.hasNames() {
		filter, empty, err = s.resolve(ctx, tx, page.Filter)
	}
	if err == nil && empty {
		return &ProviderPageRows{TotalExact: true}, end()
	}
	if err == nil {
		if listed, err = s.countedPage(ctx, tx, page, filter, end); err == nil {
			return listed, nil
		}
	}
	_ = end() // the error that matters is err
	return nil, err
}

// countedPage lists a page, with the number of all matching providers if the page has a maximum of it.
func (s *Store) countedPage(
	ctx context.Context, tx pgx.Tx, page *ProviderPage, filter db.ProviderListParams, end func() error,
) (*ProviderPageRows, error) {
	total, exact, err := s.pageTotal(ctx, tx, page, filter)
	if err != nil {
		return nil, err
	}
	listed, err := s.pageRows(ctx, tx, page, filter, end)
	if err == nil {
		listed.Total, listed.TotalExact = total, exact
	}
	return listed, err
}

// pageTotal counts the matching providers, and reports whether it has examined all.
func (s *Store) pageTotal(ctx context.Context, tx pgx.Tx, page *ProviderPage, filter db.ProviderListParams) (int, bool, error) {
	switch {
	case page.MaxTotal == 0:
		return 0, false, nil
	case filter.LeadingFilter == "none" && !page.Filter.hasNames() && page.Search == "":
		counted, err := s.queries.ProviderPageTotal(ctx, tx, int64(page.MaxTotal)+1)
		return min(int(counted), page.MaxTotal), int(counted) <= page.MaxTotal, err
	}
	rows, err := s.queries.ProviderPage(ctx, tx, page.counting(filter))
	if err != nil {
		return 0, false, err
	}
	return min(int(rows[0].Matched), page.MaxTotal), rows[0].EndPart < 0, nil
}

// isPlain reports whether the page is the whole list in the order of ProviderList, without parts.
func (p *ProviderPage) isPlain() bool {
	return p.Sort == ProvidersByCreation && p.Search == "" && p.Limit == 0 && p.After == nil && p.MaxTotal == 0 &&
		!p.HasInventories && !p.HasTraits && !p.HasAggregates
}

func (s *Store) pageRows(
	ctx context.Context, source db.DBTX, page *ProviderPage, filter db.ProviderListParams, end func() error,
) (*ProviderPageRows, error) {
	query := &rowStreamer{DBTX: source}
	if _, err := s.queries.ProviderPage(ctx, query, page.params(filter)); !errors.Is(err, errStreaming) {
		return nil, err
	}
	listed := &ProviderPageRows{ProviderRows: ProviderRows{ctx: ctx, rows: query.rows, close: end}}
	row, err := listed.nextRow()
	if err != nil {
		query.rows.Close()
		return nil, err
	}
	if listed.firstListed = listedOf(row); listed.firstListed != nil {
		listed.Newest = row.Newest
	}
	listed.Next = page.next(row)
	return listed, nil
}

// next returns the position at which a page ends; nil: at the end of the list.
func (p *ProviderPage) next(row *db.ProviderPageRow) *ProviderPosition {
	if row == nil || row.EndPart < 0 {
		return nil
	}
	position := &ProviderPosition{ID: row.EndID, Name: row.EndName[0]}
	if row.EndPart == 1 {
		position.UUID = &row.EndUuid[0]
	}
	return position
}

// params returns the parameters of the query: the range of the order, and the parameters of the filter.
func (p *ProviderPage) params(filter db.ProviderListParams) db.ProviderPageParams {
	lead := filter.LeadingFilter
	isKey := lead == "uuid" || lead == "name" || lead == "in_tree"
	if lead == "none" || p.Limit > 0 && !isKey { // a page examines a part of the list; all of it has the best index
		lead = "range"
	}
	providerPageParams := db.ProviderPageParams{
		LeadingFilter: lead, Sort: p.Sort, Prefix: p.Search,
		Uuid: filter.Uuid, Name: filter.Name, InTree: filter.InTree, ClassIds: filter.ClassIds, Amounts: filter.Amounts,
		MemberOf: filter.MemberOf, Required: filter.Required, NotMemberOf: filter.NotMemberOf, Forbidden: filter.Forbidden,
		HasInventories: p.HasInventories, HasTraits: p.HasTraits, HasAggregates: p.HasAggregates,
		MaxItems: noMaximum, MaxExamined: noMaximum, MaxKeyed: noMaximum,
		IDAfter: math.MinInt64, IDBefore: math.MaxInt64, NameHigh: afterAllNames, UuidLow: uuid.Max, UuidHigh: uuid.Nil,
	}
	if p.Limit > 0 {
		providerPageParams.MaxItems, providerPageParams.MaxExamined = int64(p.Limit), maxExamined
	}
	if p.Search != "" {
		providerPageParams.NameLow, providerPageParams.NameHigh = nameRange(p.Search)
		providerPageParams.UuidLow, providerPageParams.UuidHigh = uuidRange(p.Search)
	}
	findsByUUID := bytes.Compare(providerPageParams.UuidLow[:], providerPageParams.UuidHigh[:]) <= 0
	if p.Limit > 0 && lead == "range" && !p.Filter.hasNames() && !findsByUUID { // each examined provider is listed
		providerPageParams.MaxExamined = providerPageParams.MaxItems
	}
	p.begin(&providerPageParams)
	return providerPageParams
}

// counting returns the parameters of the query that counts the matching providers.
func (p *ProviderPage) counting(filter db.ProviderListParams) db.ProviderPageParams {
	whole := *p
	whole.Limit, whole.After, whole.Sort = 0, nil, ProvidersByCreation
	if p.Search != "" {
		whole.Sort = ProvidersByName
	}
	whole.HasInventories, whole.HasTraits, whole.HasAggregates = false, false, false
	params := whole.params(filter)
	params.CountsOnly, params.MaxItems, params.MaxExamined, params.MaxKeyed = true, int64(p.MaxTotal), int64(p.MaxTotal), int64(p.MaxTotal)+1
	return params
}

// begin moves the beginning of the range after the position.
func (p *ProviderPage) begin(params *db.ProviderPageParams) {
	switch {
	case p.After == nil:
	case p.Sort == ProvidersByCreation:
		params.IDAfter = p.After.ID
	case p.Sort == ProvidersByCreationDesc:
		params.IDBefore = p.After.ID
	case p.After.UUID == nil:
		params.NameLow = max(params.NameLow, p.After.Name+"\x01") // no name is between the two
	default:
		params.NameLow = params.NameHigh // the names are all listed
		after, isLast := following(*p.After.UUID)
		if isLast {
			params.UuidLow, params.UuidHigh = uuid.Max, uuid.Nil
		} else if bytes.Compare(params.UuidLow[:], after[:]) < 0 {
			params.UuidLow = after
		}
	}
}

// afterAllNames is after all names in the order of code points.
var afterAllNames = strings.Repeat(string(utf8.MaxRune), maxProviderName+1)

// nameRange returns the first text that begins with a prefix, and the first one after all of these, in the order of
// code points, which is that of the bytes and of the collation "C".
func nameRange(prefix string) (low, high string) {
	runes := []rune(prefix)
	for len(runes) > 0 {
		last := &runes[len(runes)-1]
		if *last++; *last == 0xD800 { // UTF-8 has no surrogates
			*last = 0xE000
		}
		if *last <= utf8.MaxRune {
			return prefix, string(runes)
		}
		runes = runes[:len(runes)-1]
	}
	return prefix, afterAllNames
}

// uuidRange returns the first and the last UUID whose text begins with a prefix. If there is none, the first is after
// the last.
func uuidRange(prefix string) (low, high uuid.UUID) {
	const zeros, ones = "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"
	if len(prefix) > len(zeros) {
		return uuid.Max, uuid.Nil
	}
	low, err := uuid.Parse(prefix + zeros[len(prefix):])
	if err != nil {
		return uuid.Max, uuid.Nil
	}
	return low, uuid.MustParse(prefix + ones[len(prefix):])
}

// following returns the next UUID, and reports whether the given one is the last.
func following(id uuid.UUID) (uuid.UUID, bool) {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			return id, false
		}
	}
	return id, true
}
