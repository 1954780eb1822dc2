package placement

import (
	"context"
	"net/http"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/microversion"
)

func rootOperations() []*route.Operation {
	return []*route.Operation{{
		ID: "version-list", Method: http.MethodGet, Path: "/", Tag: tagVersions,
		Summary: "List the supported API versions", ReadsQuery: true,
		Description: "Requires no token. The query string is ignored.",
		Variants:    []route.Variant{route.From(v(0), versionList, route.Example(showing(microversion.VersionsDocument())))},
	}}
}

func versionList(ctx context.Context, _ *none) (*cached[microversion.Document], error) {
	return answer(ctx, microversion.VersionsDocument(), now()), nil
}
