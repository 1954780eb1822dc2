package console

import (
	"html/template"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Frame is the data of the layout.
type Frame struct {
	Title, Nav, Base, Assets, Theme string
	Who                             Who
	Find                            string
	Crumbs                          []Link
	Actions                         []Link
	AsOf                            time.Time
	Warning                         string
	Body                            any
}

// Who is the caller in the top bar.
type Who struct {
	SignedIn             bool
	User, Project, Roles string
	CanChoose            bool
}

// Link is a link.
type Link struct {
	Text, Href string
	Current    bool
	Count      string
}

func parsePages() (map[string]*template.Template, error) {
	common, err := template.ParseFS(templates, "templates/layout.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		return nil, err
	}
	made := map[string]*template.Template{}
	for _, name := range names {
		page := strings.TrimSuffix(path.Base(name), ".html")
		if page == "layout" || page == "parts" {
			continue
		}
		copied, err := common.Clone()
		if err != nil {
			return nil, err
		}
		if made[page], err = copied.ParseFS(templates, name); err != nil {
			return nil, err
		}
	}
	return made, nil
}
