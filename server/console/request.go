package console

import (
	"net/http"

	"github.com/berthd/berth/server/request"
)

// requestBase returns the scheme and host of a request from the view of the browser.
func requestBase(r *http.Request) string { return request.From(r.Context()).Base }
