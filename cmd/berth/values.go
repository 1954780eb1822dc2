package main

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// reader turns the text of a setting into its value.
type reader struct {
	// kind is the word that help shows for the value; "bool" lets the flag
	// stand without a value.
	kind string
	// secret values are masked wherever they are printed: by mask, or whole where
	// that is nil.
	secret bool
	mask   func(text string) string
	// repeats lets the flag be given more than once; the values are joined by commas.
	repeats bool
	// read stores the value. What it returns is the rule that was broken.
	read func(text string) *rule
}

// rule is what a text broke, and what to do about it.
type rule struct {
	broken string // reads on from the value: `"soon" is not a duration`
	remedy string
}

func text(field *string) reader {
	return reader{kind: "text", read: func(text string) *rule {
		*field = text
		return nil
	}}
}

func boolean(field *bool) reader {
	return reader{kind: "bool", read: func(text string) *rule {
		value, err := strconv.ParseBool(text)
		if err != nil {
			return &rule{"is neither true nor false", "write true or false"}
		}
		*field = value
		return nil
	}}
}

func integer(field *int64, least, most int64) reader {
	return reader{kind: "number", read: func(text string) *rule {
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil || value < least || value > most {
			remedy := "write digits only, without a unit"
			if least < 0 {
				remedy = fmt.Sprintf("write %d, or digits without a unit", least)
			}
			return &rule{fmt.Sprintf("is not a whole number from %d to %d", least, most), remedy}
		}
		*field = value
		return nil
	}}
}

func duration(field *time.Duration, least, most time.Duration) reader {
	return reader{kind: "duration", read: func(text string) *rule {
		value, err := time.ParseDuration(text)
		if err != nil {
			return &rule{"is not a duration", "write a number with its unit, such as 500ms, 30s or 2m"}
		}
		if value < least || value > most {
			return &rule{"is out of range", fmt.Sprintf("write a duration from %s to %s", least, most)}
		}
		*field = value
		return nil
	}}
}

func oneOf(field *string, choices ...string) reader {
	return reader{kind: "text", read: func(text string) *rule {
		if !slices.Contains(choices, text) {
			return &rule{"is not one of the choices", "write one of " + strings.Join(choices, ", ")}
		}
		*field = text
		return nil
	}}
}

// A host name of the Bare Metal API is part of paths and is shown to people.
var hostnamePattern = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,255}$`)

func hostname(field *string) reader {
	return reader{kind: "name", read: func(text string) *rule {
		if text != "" && !hostnamePattern.MatchString(text) {
			return &rule{"is not a name of 1 to 255 letters, digits and the characters . _ : -",
				"write a name such as conductor-1, or leave the setting out for the machine's name and the port"}
		}
		*field = text
		return nil
	}}
}

func address(field *string) reader {
	return reader{kind: "address", read: func(text string) *rule {
		remedy := "write an address and a port, such as 127.0.0.1:8778, [::1]:8778 or :8778"
		host, port, err := net.SplitHostPort(text)
		if err != nil || strings.ContainsAny(host, "/@ ") {
			return &rule{"is not an address with a port", remedy}
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return &rule{"has no port from 0 to 65535", remedy}
		}
		*field = text
		return nil
	}}
}

func basePath(field *string) reader {
	return reader{kind: "path", read: func(text string) *rule {
		plain := text == "" || (strings.HasPrefix(text, "/") && text != "/" && path.Clean(text) == text)
		if !plain || strings.ContainsAny(text, "?#%{} \t") {
			return &rule{"is not a plain path", "write a path that starts with / and does not end with it, such as /placement"}
		}
		*field = text
		return nil
	}}
}

func externalID(field *string) reader {
	return reader{kind: "id", read: func(text string) *rule {
		if text == "" || len(text) > 255 {
			return &rule{"is not an id of 1 to 255 characters", "write the id, or leave the setting out for the zero UUID"}
		}
		*field = text
		return nil
	}}
}

// origins checks the form, because a browser's Origin is compared letter by
// letter: a path or a trailing slash would never match and look like a bug.
func origins(field *[]string) reader {
	return reader{kind: "origins", read: func(text string) *rule {
		list := splitList(text)
		for _, origin := range list {
			if origin == "*" {
				continue
			}
			parsed, err := url.Parse(origin)
			if err != nil || parsed.Host == "" || parsed.Scheme+"://"+parsed.Host != origin {
				return &rule{
					fmt.Sprintf("holds %q, which is not an origin", origin),
					"write scheme, host and port as browsers send them, such as https://horizon.example.org, or *",
				}
			}
		}
		*field = list
		return nil
	}}
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func headerNames(field *[]string) reader {
	return reader{kind: "headers", read: func(text string) *rule {
		list := splitList(text)
		for _, name := range list {
			if !headerName.MatchString(name) {
				return &rule{
					fmt.Sprintf("holds %q, which is not the name of a header", name),
					"write names separated by commas, such as X-Auth-Token,X-Roles",
				}
			}
		}
		*field = list
		return nil
	}}
}

// connection accepts what PostgreSQL's own programs accept: a URL or a list of
// key=value pairs.
func connection(field *string) reader {
	return reader{kind: "URL", secret: true, mask: maskPassword, read: func(text string) *rule {
		if text == "" {
			*field = ""
			return nil
		}
		const remedy = "write postgres://user:password@host:5432/name, with characters such as @ / : ? % percent-encoded in the password"
		// pgx would read some of these as key=value, and connect to whatever is here.
		switch dialect := otherDialect(text); {
		case dialectName(dialect) != "":
			return &rule{
				fmt.Sprintf("is a %s database, and Berth keeps its data in PostgreSQL", dialectName(dialect)),
				"name a PostgreSQL database, and copy the data with 'berth import " + dialect + "://…'",
			}
		case dialect != "":
			return &rule{"is not a connection string of PostgreSQL's", remedy}
		}
		if _, err := pgx.ParseConfig(text); err != nil {
			return &rule{"is not a connection string" + harmlessReason(text, err), remedy}
		}
		*field = text
		return nil
	}}
}

// paths is a list of files or directories. Whether they exist is found out by those
// who open them.
func paths(kind string) reader {
	return reader{kind: kind, repeats: true, read: func(string) *rule { return nil }}
}

// methods are the names of HTTP methods, which are compared letter by letter.
func methods(field *[]string) reader {
	return reader{kind: "methods", read: func(text string) *rule {
		list := splitList(text)
		for _, name := range list {
			if !headerName.MatchString(name) || name != strings.ToUpper(name) {
				return &rule{
					fmt.Sprintf("holds %q, which is not a method", name),
					"write methods in capital letters, separated by commas, such as GET,PUT",
				}
			}
		}
		*field = list
		return nil
	}}
}

// splitList reads a comma separated list; blanks around a comma and empty
// elements do not count.
func splitList(text string) []string {
	list := []string{}
	for element := range strings.SplitSeq(text, ",") {
		if element = strings.TrimSpace(element); element != "" {
			list = append(list, element)
		}
	}
	return list
}

// isLoopback tells whether only this machine can reach an address that is
// listened on. A name other than localhost does not count, whatever it resolves
// to today; neither does an empty host, which means every interface.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
