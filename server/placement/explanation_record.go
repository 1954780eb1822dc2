package placement

import (
	"context"
	"encoding/json"
	"time"

	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/explain"
	"github.com/berthd/berth/server/explainlog"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/querystring"
	"github.com/berthd/berth/server/request"
)

// emptyReason returns the reason why a search found nothing: the label of the metric, and what is recorded and logged.
// The search does not report its reason yet.
func emptyReason(*candidates.Result) explain.Reason { return explain.NoTree }

// recordEmpty records that a query has no candidates, for the metric, the log and explanations. It waits for nothing.
// explanation is the JSON that the response contains; nil: it contains none.
func (o *operations) recordEmpty(ctx context.Context, values querystring.Values, explanation json.RawMessage, reason explain.Reason) {
	info := request.From(ctx)
	info.EmptyReason = string(reason)
	o.explanations.Add(explainlog.Record{
		RequestID: info.ID, GlobalRequestID: info.GlobalID, At: time.Now(), Kind: explainlog.Candidates,
		Version: microversion.From(ctx), Values: values, Options: o.candidates.recorded(),
		Reason: reason, Content: explanation,
	})
}
