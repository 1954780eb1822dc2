package client

import (
	"context"
	"io"
	"net/http"
	"strings"
)

// linesType is the Accept header of streams, whose errors are JSON.
const linesType = "application/x-ndjson, application/json"

type acceptKey struct{}

// accepted returns the Accept header of a request. The response to one for a stream is read while it is sent.
func accepted(ctx context.Context) string {
	if media, ok := ctx.Value(acceptKey{}).(string); ok {
		return media
	}
	return jsonType
}

// open sends a request whose response is a stream of lines, which the caller reads and closes. The end of ctx ends it. Unlike other
// requests it has no timeout, even if the HTTP client has one.
func (c *Client) open(ctx context.Context, r request) (io.ReadCloser, error) {
	ctx = withAtLeast(ctx, r.needs)
	endpoint, err := c.endpoint(ctx)
	if err != nil {
		return nil, err
	}
	notes, over := &notes{}, *c.http
	over.Timeout = 0
	sent := context.WithValue(context.WithValue(ctx, notesKey{}, notes), acceptKey{}, linesType)
	response, err := r.send(sent, strings.TrimSuffix(endpoint, "/")+"/", nil, &over)
	if err != nil {
		return nil, notes.failure(ctx, err)
	}
	if response.StatusCode == http.StatusOK && !lacksExtensions(ctx, response) {
		return response.Body, nil
	}
	defer response.Body.Close()
	var body []byte
	if response.StatusCode != http.StatusOK { // from memory: the transport has read it
		if body, err = io.ReadAll(response.Body); err != nil {
			return nil, notes.failure(ctx, err)
		}
	}
	return nil, notes.rejection(ctx, response, body, placementRefusal)
}
