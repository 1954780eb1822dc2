package cors

import "net/http"

// response is a ResponseWriter that calls begin when the application has set its headers and before they
// are sent. Earlier the application could still overwrite Vary, and the status of a response to OPTIONS,
// which decides whether it is kept, would be unknown.
type response struct {
	http.ResponseWriter
	// begin receives the final status, may change headers, and returns the status to send; discard drops
	// the body.
	begin func(status int) (sent int, discard bool)

	begun, discard bool
}

// WriteHeader sends the headers. It passes informational responses (1xx) through, and leaves a second
// final status to net/http, which logs it.
func (w *response) WriteHeader(status int) {
	informational := status >= 100 && status < 200 && status != http.StatusSwitchingProtocols
	if w.begun && w.discard {
		return
	}
	if !w.begun && !informational {
		w.begun = true
		status, w.discard = w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body, or drops it if the response is discarded.
func (w *response) Write(body []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	if w.discard {
		return len(body), nil
	}
	return w.ResponseWriter.Write(body)
}

// FlushError implements the interface of http.ResponseController. A flush sends the headers, so it must
// call begin and not bypass this type by Unwrap.
func (w *response) FlushError() error {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController access to the other features of the writer, such as deadlines.
func (w *response) Unwrap() http.ResponseWriter {
	return w.ResponseWriter
}

// finish handles applications that return without a write, which means 200 and no body. It sets the
// headers; net/http sends them.
func (w *response) finish() {
	if !w.begun {
		w.begun = true
		w.begin(http.StatusOK)
	}
}
