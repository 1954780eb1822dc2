package microversion

// Document is the versions document that GET / returns at every microversion (docs/contract/http.md#versions-document).
type Document struct {
	Versions []DocumentVersion `json:"versions" doc:"Major versions of the API; there is one."`
}

// DocumentVersion describes one major version of the API.
type DocumentVersion struct {
	ID         string         `json:"id" doc:"Name of the major version."`
	MaxVersion string         `json:"max_version" doc:"Newest supported microversion."`
	MinVersion string         `json:"min_version" doc:"Oldest supported microversion."`
	Status     string         `json:"status" doc:"Status of the version; always CURRENT."`
	Links      []DocumentLink `json:"links" doc:"Links to the API."`
}

// DocumentLink is a link to the API. Its target is empty on purpose, even if the API is mounted under a prefix: clients
// resolve it against the URL of their request.
type DocumentLink struct {
	Rel  string `json:"rel" doc:"Relation of the link."`
	Href string `json:"href" doc:"Always empty: relative to the URL of the request."`
}

// VersionsDocument returns the document of the supported range.
func VersionsDocument() Document {
	return Document{Versions: []DocumentVersion{{
		ID:         "v1.0",
		MaxVersion: Max.String(),
		MinVersion: Min.String(),
		Status:     "CURRENT",
		Links:      []DocumentLink{{Rel: "self", Href: ""}},
	}}}
}
