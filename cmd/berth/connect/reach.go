package connect

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/berthd/berth/cmd/berth/frame"
)

// reachTimeout bounds the request of Reach.
const reachTimeout = 3 * time.Second

// Reach sends one request to the server to which the commands of the API send theirs, as the environment names it. It returns
// the URL, which is that of the catalog with Keystone and no URL, and the error of the request.
func Reach(ctx context.Context, f *frame.Frame) (url string, err error) {
	found, err := load(pflag.NewFlagSet("", pflag.ContinueOnError), f.Environ)
	if err != nil {
		return "", err
	}
	url = found.url
	if found.Auth != "keystone" {
		url = cmp.Or(url, defaultURL)
	}
	service, err := found.client(f)
	if err != nil {
		return url, err
	}
	bounded, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	_, err = service.HasExtensions(bounded, "1.1")
	return url, err
}
