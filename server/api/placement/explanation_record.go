package placement

import (
	"cmp"
	"context"
	"time"

	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// record records that a query has no candidates, for the metric, the log and explanations.
func (s *candidateRequest) record(ctx context.Context) {
	if s.cause == "" {
		s.reason = cmp.Or(s.reason, s.findReason(ctx)) // that of an explanation is exact
	}
	info := request.From(ctx)
	info.EmptyReason, info.EmptyCause = string(s.reason), string(s.cause)
	s.addRecord(info, explainlog.Record{
		RequestID: info.ID, GlobalRequestID: info.GlobalID, At: time.Now(), Kind: explainlog.Candidates,
		Version: microversion.From(ctx), Values: s.values, Options: s.candidates.recorded(),
		Reason: s.reason, Content: s.explanation,
	})
}

// addRecord records a request that found nothing. Those of the console are not recorded: a page that shows what could not be
// placed would add to it.
func (o *operations) addRecord(info *request.Info, record explainlog.Record) {
	if !info.OfConsole {
		o.explanations.Add(record)
	}
}
