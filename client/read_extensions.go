package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// berth14 is the first version of the extensions with pages of providers, aggregates and consumers, with whole trees,
// and with capacities.
const berth14 = "1.4"

// read sends a GET that needs berth 1.4. Parameters without a value are left out.
func (c *Client) read(ctx context.Context, into any, path string, params []param) error {
	return c.readAs(ctx, into, path, params, berth14)
}

// readAs is read for a GET that needs another version.
func (c *Client) readAs(ctx context.Context, into any, path string, params []param, needs string) error {
	params = slices.DeleteFunc(slices.Clone(params), func(p param) bool { return p.value == "" })
	return c.do(ctx, into, request{method: http.MethodGet, path: path, query: params, needs: needs})
}

// pages returns an iterator over the items of all pages. get requests the page of a marker; the first one is empty.
func pages[T any](get func(marker string) ([]T, []api.Link, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for marker := ""; ; {
			items, links, err := get(marker)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			next := nextMarker(links)
			if next == "" {
				return
			}
			if next == marker {
				yield(none, errors.New("the service returned a page whose link leads to itself"))
				return
			}
			marker = next
		}
	}
}

// inList returns the value of a parameter with several values; no values: "".
func inList(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return "in:" + strings.Join(values, ",")
}

func uuidTexts(ids []uuid.UUID) (texts []string) {
	for _, id := range ids {
		texts = append(texts, id.String())
	}
	return texts
}

// sizeText returns the value of limit; 0: "".
func sizeText(size int) string {
	if size <= 0 {
		return ""
	}
	return strconv.Itoa(size)
}
