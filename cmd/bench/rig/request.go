package rig

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Request sends a request, expects one status and reads the response to its end.
func (r *Rig) Request(ctx context.Context, method, url, body string, want int) error {
	_, err := r.Read(ctx, method, url, body, want, io.Discard)
	return err
}

// versionsKey is the key of the versions in a context.
type versionsKey struct{}

// WithVersions returns a context whose requests select other versions, in the format of the header OpenStack-API-Version.
func WithVersions(ctx context.Context, versions string) context.Context {
	return context.WithValue(ctx, versionsKey{}, versions)
}

// headerKey is the key of a further header in a context.
type headerKey struct{}

// WithHeader returns a context whose requests have a further header.
func WithHeader(ctx context.Context, name, value string) context.Context {
	return context.WithValue(ctx, headerKey{}, [2]string{name, value})
}

// Read is Request with the body copied to a writer. It returns the size of the body.
func (r *Rig) Read(ctx context.Context, method, url, body string, want int, into io.Writer) (int64, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return 0, err
	}
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("X-Roles", "admin,service")
	versions, given := ctx.Value(versionsKey{}).(string)
	if !given {
		versions = "placement 1.39, baremetal 1.82"
	}
	request.Header.Set("OpenStack-API-Version", versions)
	if header, given := ctx.Value(headerKey{}).([2]string); given {
		request.Header.Set(header[0], header[1])
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := r.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != want {
		answer, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return 0, fmt.Errorf("%s %s: %s %s", method, request.URL.Path, response.Status, bytes.TrimSpace(answer))
	}
	return io.Copy(into, response.Body)
}

// SelectOne returns F, the least that an HTTP server on a database can do.
func SelectOne(pool *pgxpool.Pool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var one int
		if err := pool.QueryRow(r.Context(), "SELECT 1").Scan(&one); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"one": 1}`) // a client that left shows in its own error
	})
}
