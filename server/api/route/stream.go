package route

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// Fail replaces the response of an operation by an error, although a part of its body was written. If the writer has
// already sent that part, Fail aborts the connection, so that the client does not treat a partial response as complete.
func Fail(to huma.Context, err error) {
	if answer, ok := to.BodyWriter().(interface{ Fail(error) }); ok {
		answer.Fail(err)
		return
	}
	panic(http.ErrAbortHandler)
}
