package client

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// readExtensions is the first version of the extensions with pages of providers, aggregates and consumers, with whole trees,
// and with capacities.
const readExtensions = "1.4"

// withReadExtensions selects the version of the reads, unless the context selects a later one.
func withReadExtensions(ctx context.Context) context.Context {
	if minor, ok := minorOf(extensions(ctx)); ok && minor >= 4 {
		return ctx
	}
	return WithExtensions(ctx, readExtensions)
}

// hasReadExtensions reports whether the service has berth 1.4, for requests that have a substitute. If the service cannot
// be asked, the request that follows returns the error.
func (c *Client) hasReadExtensions(ctx context.Context) bool {
	has, err := c.HasExtensions(ctx, readExtensions)
	return has && err == nil
}

// getReading sends a GET that needs berth 1.4. Parameters without a value are left out.
func (c *Client) getReading(ctx context.Context, into any, path string, params []param) error {
	var sent []param
	for _, one := range params {
		if one.value != "" {
			sent = append(sent, one)
		}
	}
	if len(sent) > 0 {
		path += "?" + encode(sent)
	}
	return c.sendReading(ctx, into, http.MethodGet, path, nil)
}

// sendReading sends a read that needs berth 1.4, with a JSON body unless it is nil.
func (c *Client) sendReading(ctx context.Context, into any, method, path string, body []byte) error {
	return c.Exchange(withReadExtensions(ctx), into, placementRefusal, func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		if body == nil {
			return sendJSON(ctx, over, method, address+path, nil)
		}
		return sendJSON(ctx, over, method, address+path, bytes.NewReader(body))
	})
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
