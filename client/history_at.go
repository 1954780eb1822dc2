package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// HistoryTime selects a moment of the record of changes: a time or, if that is zero, the index of an event.
type HistoryTime struct {
	Time  time.Time
	Index int64
}

// ConsumerThen is a consumer as it was at a moment. Times that the record does not have are zero.
type ConsumerThen struct {
	ListedConsumer
	// At is the newest event that counts.
	At api.HistoryMoment `json:"at"`
	// Response is the consumer as the service sent it: times that the record does not have are null.
	Response json.RawMessage `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *ConsumerThen) UnmarshalJSON(text []byte) error {
	type members ConsumerThen
	err := json.Unmarshal(text, (*members)(t))
	t.Response = slices.Clone(text)
	return err
}

// MarshalJSON implements json.Marshaler. It returns the consumer as the service sent it.
func (t ConsumerThen) MarshalJSON() ([]byte, error) {
	if t.Response != nil {
		return t.Response, nil
	}
	type members ConsumerThen
	return json.Marshal(members(t))
}

// ConsumerShowAt returns a consumer as it was at a moment. It needs berth 1.7. The error of a consumer that did not exist is an
// ErrNotFound, that of a moment before the record an ErrHistoryGone, and that of a record that is off or not complete an ErrHistoryOff.
func (c *Client) ConsumerShowAt(ctx context.Context, id uuid.UUID, at HistoryTime) (found ConsumerThen, err error) {
	if err := c.require(ctx, berth17); err != nil {
		return found, err
	}
	return found, c.readAs(ctx, &found, "consumers/"+id.String(), at.params(), berth17)
}

// TreeShowAt returns the tree in which a provider was at a moment, as it was then, with the errors of ConsumerShowAt and of TreeShow. It
// has no part TreeSharing. Generations that the record does not have are nil.
func (c *Client) TreeShowAt(ctx context.Context, provider uuid.UUID, at HistoryTime, parts ...TreePart) (*ShownTree, error) {
	if err := c.require(ctx, berth17); err != nil {
		return nil, err
	}
	return c.treeShow(ctx, provider, at.params(), berth17, parts)
}

// params returns the query parameter of a moment. Index 0 is the beginning of the first log.
func (t HistoryTime) params() []param {
	if text := momentText(t.Time, t.Index); text != "" {
		return []param{{"at", text}}
	}
	return []param{{"at", "0"}}
}

// treeShow requests a tree with parts and other parameters.
func (c *Client) treeShow(ctx context.Context, provider uuid.UUID, params []param, needs string, parts []TreePart) (*ShownTree, error) {
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = string(part)
	}
	var answer api.TreeShown
	params = append(params, param{"include", strings.Join(names, ",")})
	err := c.readAs(ctx, &answer, "resource_providers/"+provider.String()+"/tree", params, needs)
	var failed *Error
	if errors.As(err, &failed) && failed.Code == codeTooManyConsumers {
		return nil, fmt.Errorf("%w: %w", ErrTooManyConsumers, err)
	}
	if err != nil {
		return nil, err
	}
	return shownTree(&answer), nil
}
