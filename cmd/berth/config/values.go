package config

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server"
)

// hostname returns a reader of host names of conductors, which are parts of URL paths.
var hostnamePattern = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,255}$`)

func hostname(field *string) setting.Reader {
	return setting.Reader{Kind: "name", Read: func(text string) *frame.Rule {
		if text != "" && !hostnamePattern.MatchString(text) {
			return &frame.Rule{Broken: "is not a name of 1 to 255 letters, digits and the characters . _ : -",
				Remedy: "write a name such as conductor-1, or omit the setting to use the host name and the port"}
		}
		*field = text
		return nil
	}}
}

func basePath(field *string) setting.Reader {
	return setting.Reader{Kind: "path", Read: func(text string) *frame.Rule {
		plain := text == "" || (strings.HasPrefix(text, "/") && text != "/" && path.Clean(text) == text)
		if !plain || strings.ContainsAny(text, "?#%{} \t") {
			return &frame.Rule{Broken: "is not a plain path", Remedy: "write a path that starts with / and does not end with it, such as /placement"}
		}
		*field = text
		return nil
	}}
}

// ExternalID returns a reader of IDs of projects and users, of 1 to 255 characters.
func ExternalID(field *string) setting.Reader {
	return setting.Reader{Kind: "id", Read: func(text string) *frame.Rule {
		if text == "" || len(text) > 255 {
			return &frame.Rule{Broken: "is not an id of 1 to 255 characters", Remedy: "write the id, or leave the setting out for the zero UUID"}
		}
		*field = text
		return nil
	}}
}

// origins returns a reader of CORS origins. It checks their form, because Berth compares a
// browser's Origin exactly: an origin with a path or a trailing slash would never match.
func origins(field *[]string) setting.Reader {
	return setting.Reader{Kind: "origins", Read: func(text string) *frame.Rule {
		list := setting.SplitList(text)
		for _, origin := range list {
			if origin == "*" {
				continue
			}
			parsed, err := url.Parse(origin)
			if err != nil || parsed.Host == "" || parsed.Scheme+"://"+parsed.Host != origin {
				return &frame.Rule{
					Broken: fmt.Sprintf("holds %q, which is not an origin", origin),
					Remedy: "write scheme, host and port as browsers send them, such as https://horizon.example.org, or *",
				}
			}
		}
		*field = list
		return nil
	}}
}

func hostNames(field *[]string) setting.Reader {
	return setting.Reader{Kind: "hosts", Read: func(text string) *frame.Rule {
		list := setting.SplitList(text)
		for _, host := range list {
			if err := server.ValidHost(host); err != nil {
				return &frame.Rule{Broken: "holds " + err.Error(), Remedy: "write names or addresses separated by commas, such as berth.example.org,192.0.2.7, or *"}
			}
		}
		*field = list
		return nil
	}}
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func headerNames(field *[]string) setting.Reader {
	return setting.Reader{Kind: "headers", Read: func(text string) *frame.Rule {
		list := setting.SplitList(text)
		for _, name := range list {
			if !headerName.MatchString(name) {
				return &frame.Rule{
					Broken: fmt.Sprintf("holds %q, which is not the name of a header", name),
					Remedy: "write names separated by commas, such as X-Auth-Token,X-Roles",
				}
			}
		}
		*field = list
		return nil
	}}
}

// connection returns a reader of connection strings as libpq accepts them: a URL or key=value pairs.
func connection(field *string) setting.Reader {
	return setting.Reader{Kind: "URL", Secret: true, Mask: MaskPassword, Read: func(text string) *frame.Rule {
		if text == "" {
			*field = ""
			return nil
		}
		const remedy = "write postgres://user:password@host:5432/name, with characters such as @ / : ? % percent-encoded in the password"
		// pgx would parse some of these as key=value and connect to a local server.
		switch dialect := otherDialect(text); {
		case dialectName(dialect) != "":
			return &frame.Rule{
				Broken: fmt.Sprintf("is a %s database, but Berth requires PostgreSQL", dialectName(dialect)),
				Remedy: "name a PostgreSQL database, and copy the data with 'berth import " + dialect + "://…'",
			}
		case dialect != "":
			return &frame.Rule{Broken: "is not a connection string of PostgreSQL's", Remedy: remedy}
		}
		if _, err := pgx.ParseConfig(text); err != nil {
			return &frame.Rule{Broken: "is not a connection string" + harmlessReason(text, err), Remedy: remedy}
		}
		*field = text
		return nil
	}}
}

// methods returns a reader of HTTP methods, which are case-sensitive.
func methods(field *[]string) setting.Reader {
	return setting.Reader{Kind: "methods", Read: func(text string) *frame.Rule {
		list := setting.SplitList(text)
		for _, name := range list {
			if !headerName.MatchString(name) || name != strings.ToUpper(name) {
				return &frame.Rule{
					Broken: fmt.Sprintf("holds %q, which is not a method", name),
					Remedy: "write methods in capital letters, separated by commas, such as GET,PUT",
				}
			}
		}
		*field = list
		return nil
	}}
}
