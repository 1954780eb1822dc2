package apierr

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/request"
)

// These are the formats of an error body.
const (
	FormatJSON  = "application/json"
	FormatHTML  = "text/html; charset=UTF-8"
	FormatPlain = "text/plain; charset=UTF-8"
)

// format selects HTML or JSON by the Accept header: HTML if both have equal quality, and plain text if neither is
// acceptable.
func format(info *request.Info) string {
	markup, data := info.Accept.Quality("text/html"), info.Accept.Quality("application/json")
	switch {
	case info.Accept == nil || data > markup:
		return FormatJSON
	case markup > 0:
		return FormatHTML
	default:
		return FormatPlain
	}
}

// Write writes an error response to a request that is rejected before its operation is found.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	response := ResponseFor(r.Context(), err)
	for name, values := range response.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", response.ContentType(""))
	w.WriteHeader(response.GetStatus())
	// Ignore the error of a client that disconnected.
	_ = Formats()[response.ContentType("")].Marshal(w, response)
}

// Denial is the body of a 401, which has its own format.
type Denial struct {
	Message string `json:"message" doc:"Description of the problem."`
	Code    string `json:"code" doc:"The status with its name." example:"401 Unauthorized"`
	Title   string `json:"title" doc:"Name of the status." example:"Unauthorized"`
}

// NewDenial returns the body of a 401.
func NewDenial() Denial {
	const sentence = "This request needs a valid token in the header X-Auth-Token."
	return Denial{Message: sentence, Code: "401 Unauthorized", Title: "Unauthorized"}
}

// Unauthorized writes a 401. The challenge is the value of WWW-Authenticate, from which the client learns the URL of
// Keystone. With a challenge, the body has the format of OpenStack services, always in JSON.
func Unauthorized(w http.ResponseWriter, r *http.Request, challenge string) {
	denial := NewDenial()
	form := format(request.From(r.Context()))
	if challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
		form = FormatJSON
	}
	w.Header().Set("Content-Type", form)
	w.WriteHeader(http.StatusUnauthorized)
	// Ignore the error of a client that disconnected.
	switch {
	case challenge != "":
		_ = writeJSON(w, newChallenged())
	case form == FormatJSON:
		_ = writeJSON(w, denial)
	case form == FormatHTML:
		_ = writeHTML(w, denial.Code, denial.Message)
	default:
		_ = writePlain(w, denial.Code, denial.Message)
	}
}

// Challenged is the body of a 401 with Keystone authentication.
type Challenged struct {
	Error struct {
		Code    int    `json:"code" doc:"The status." example:"401"`
		Title   string `json:"title" doc:"Name of the status." example:"Unauthorized"`
		Message string `json:"message" doc:"Description of the problem."`
	} `json:"error"`
}

func newChallenged() (challenged Challenged) {
	challenged.Error.Code, challenged.Error.Title = http.StatusUnauthorized, http.StatusText(http.StatusUnauthorized)
	challenged.Error.Message = "The request you have made requires authentication."
	return challenged
}

// Formats returns huma's encoders: JSON for all responses, the others only for errors, which select them by
// Response.ContentType.
func Formats() map[string]huma.Format {
	return map[string]huma.Format{
		FormatJSON:  {Marshal: writeJSON, Unmarshal: json.Unmarshal},
		FormatHTML:  {Marshal: textual(writeHTML)},
		FormatPlain: {Marshal: textual(writePlain)},
	}
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

func textual(write func(w io.Writer, title, text string) error) func(io.Writer, any) error {
	return func(w io.Writer, value any) error {
		response, ok := value.(*Response)
		if !ok {
			return fmt.Errorf("cannot encode %T as text: only errors have a text format", value)
		}
		item := response.Errors[0]
		// The text may quote a header whose bytes are not valid UTF-8.
		return write(w, fmt.Sprintf("%d %s", item.Status, item.Title), strings.ToValidUTF8(item.Detail, "\uFFFD"))
	}
}

func writeHTML(w io.Writer, title, text string) error {
	_, err := fmt.Fprintf(w, "<html>\n<head><title>%[1]s</title></head>\n<body>\n<h1>%[1]s</h1>\n%[2]s\n</body>\n</html>\n",
		html.EscapeString(title), html.EscapeString(text))
	return err
}

func writePlain(w io.Writer, title, text string) error {
	_, err := fmt.Fprintf(w, "%s\n\n%s\n", title, text)
	return err
}
