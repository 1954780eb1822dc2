package cors

import "net/http"

// response hands an answer on and steps in at the one moment that matters: when
// the application has set its headers and they have not been sent yet. Setting
// ours earlier would let the application overwrite Vary, and whether an answer
// to OPTIONS is to be kept is known only from its status.
type response struct {
	http.ResponseWriter
	// begin sees the final status, may change headers and gives the status to
	// send; discard throws the body away.
	begin func(status int) (sent int, discard bool)

	begun, discard bool
}

// WriteHeader sends the headers. Informational ones (1xx) are no answer yet and
// pass, and a second final status is left for net/http to complain about.
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

// Write sends a part of the body, or swallows it if the answer is discarded.
func (w *response) Write(body []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	if w.discard {
		return len(body), nil
	}
	return w.ResponseWriter.Write(body)
}

// FlushError serves http.ResponseController. A flush sends the headers, so it
// must not get past this type by way of Unwrap.
func (w *response) FlushError() error {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController access to deadlines and the like.
func (w *response) Unwrap() http.ResponseWriter {
	return w.ResponseWriter
}

// finish is for applications that return without a word, which means 200 and no
// body. It only sets the headers and leaves the sending to net/http.
func (w *response) finish() {
	if !w.begun {
		w.begun = true
		w.begin(http.StatusOK)
	}
}
