package apierr

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/request"
)

// The forms of an error's body.
const (
	FormatJSON  = "application/json"
	FormatHTML  = "text/html; charset=UTF-8"
	FormatPlain = "text/plain; charset=UTF-8"
)

// format picks HTML or JSON by the client's Accept header, HTML where both are
// equally welcome, and plain text where neither is.
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

// Write answers a request with an error, for what is refused before an operation
// is found.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	response := Answer(r.Context(), err)
	for name, values := range response.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", response.ContentType(""))
	w.WriteHeader(response.GetStatus())
	// Nobody is left to tell if the client went away meanwhile.
	_ = Formats()[response.ContentType("")].Marshal(w, response)
}

// Denial is the body of a 401, which has a shape of its own.
type Denial struct {
	Message string `json:"message" doc:"What is missing, for people."`
	Code    string `json:"code" doc:"The status with its name." example:"401 Unauthorized"`
	Title   string `json:"title" doc:"The status in words." example:"Unauthorized"`
}

// NewDenial makes the body of a 401.
func NewDenial() Denial {
	const sentence = "This request needs a valid token in the header X-Auth-Token."
	return Denial{Message: sentence, Code: "401 Unauthorized", Title: "Unauthorized"}
}

// Unauthorized answers 401. A challenge tells the client, in WWW-Authenticate, where
// it can get a token; such an answer has the body that the OpenStack services give it,
// in JSON whatever else the client would rather have.
func Unauthorized(w http.ResponseWriter, r *http.Request, challenge string) {
	denial := NewDenial()
	form := format(request.From(r.Context()))
	if challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
		form = FormatJSON
	}
	w.Header().Set("Content-Type", form)
	w.WriteHeader(http.StatusUnauthorized)
	// Nobody is left to tell if the client went away meanwhile.
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

// Challenged is the body of a 401 where Keystone knows the callers.
type Challenged struct {
	Error struct {
		Code    int    `json:"code" doc:"The status." example:"401"`
		Title   string `json:"title" doc:"The status in words." example:"Unauthorized"`
		Message string `json:"message" doc:"What is missing, for people."`
	} `json:"error"`
}

func newChallenged() (made Challenged) {
	made.Error.Code, made.Error.Title = http.StatusUnauthorized, http.StatusText(http.StatusUnauthorized)
	made.Error.Message = "The request you have made requires authentication."
	return made
}

// Formats are huma's encoders: JSON for all answers, the two others for errors
// only, which ask for them through Response.ContentType.
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
			return fmt.Errorf("only errors have a textual form, %T does not", value)
		}
		item := response.Errors[0]
		return write(w, fmt.Sprintf("%d %s", item.Status, item.Title), item.Detail)
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
