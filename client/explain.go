package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	api "github.com/berthd/berth/gen/client"
)

// berth12 is the first version of the extensions with explanations.
const berth12 = "1.2"

// ExplainWhen is the condition for an explanation of a candidate query.
type ExplainWhen string

// The conditions: if there is no candidate, or whether there are candidates or not.
const (
	ExplainEmpty  ExplainWhen = "empty"
	ExplainAlways ExplainWhen = "always"
)

// CandidateExplanation is the allocation candidates of a query, and their explanation; nil if the condition for it does
// not hold.
type CandidateExplanation struct {
	api.Candidates
	Explanation *Explanation `json:"explanation"`
}

// RecordedExplanation is a request that found nothing, and its explanation.
type RecordedExplanation struct {
	api.RecordedExplanation
	Explanation *Explanation `json:"explanation"`
}

// ExplanationFilter selects elements of the list of explanations. All texts have the syntax of the API; empty ones select
// all.
type ExplanationFilter struct {
	// Kind is "candidates" or "claim".
	Kind, Reason string
	// Since is a time such as "2026-11-20T10:00:00Z", or a duration such as "2h".
	Since string
	// Sort is "-last_asked_at" (default: newest first) or "-requests" (most frequent first).
	Sort string
	// Limit is the maximum number of elements; 0: no limit.
	Limit int
}

// maxExplanationPage is the maximum number of elements of a page of the service.
const maxExplanationPage = 1000

// CandidateExplain is CandidateList with an explanation, which takes up to one second after the search. It needs berth
// 1.2: the error of a service without it is an ErrExtensions. ErrForbidden: policy does not permit explanations.
func (c *Client) CandidateExplain(ctx context.Context, query CandidateQuery, when ExplainWhen) (CandidateExplanation, error) {
	var answer CandidateExplanation
	params, err := query.params()
	if err != nil {
		return answer, err
	}
	address, err := c.endpoint(ctx)
	if err != nil {
		return answer, err
	}
	params = append(params, param{"explain", string(when)})
	if version := fieldVersion(query.needsExtensions()); version != berth11 {
		ctx = withAtLeast(ctx, version)
	}
	if body := query.body(when); body != nil && isTooLong(address, encode(params)) {
		return answer, c.do(ctx, &answer, request{method: http.MethodPost, path: "allocation_candidates", body: body, needs: berth12})
	}
	return answer, c.explain(ctx, &answer, "allocation_candidates", params)
}

// QuestionExplain explains a query string, such as the Question of a RecordedExplanation, whether there are candidates or
// not. It is otherwise as CandidateExplain. The service rejects invalid parameters.
func (c *Client) QuestionExplain(ctx context.Context, question string) (CandidateExplanation, error) {
	var answer CandidateExplanation
	params, err := questionParams(question)
	if err != nil {
		return answer, err
	}
	params = append([]param{{"explain", string(ExplainAlways)}}, params...)
	return answer, c.explain(ctx, &answer, "allocation_candidates", params)
}

// QuestionList returns the allocation candidates of a query string, whose parameters need the extensions that the context
// selects. The service rejects invalid parameters.
func (c *Client) QuestionList(ctx context.Context, question string) (api.Candidates, error) {
	var answer api.Candidates
	params, err := questionParams(question)
	if err != nil {
		return answer, err
	}
	return answer, c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.CandidateList(ctx, &api.CandidateListParams{OpenStackAPIVersion: newest}, func(_ context.Context, request *http.Request) error {
			request.URL.RawQuery = encode(params)
			return nil
		})
	})
}

// questionParams returns the parameters of a query string, without that of explanations.
func questionParams(question string) ([]param, error) {
	var params []param
	for pair := range strings.SplitSeq(question, "&") {
		name, text, _ := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(name)
		text, err := url.QueryUnescape(text)
		if err := errors.Join(nameErr, err); err != nil {
			return nil, fmt.Errorf("invalid query string: %w", err)
		}
		if name != "" && name != "explain" {
			params = append(params, param{name, text})
		}
	}
	return params, nil
}

// ExplanationShow returns the recorded requests with a request id, or else those with it as their global request id, oldest
// first. The service explains what is not explained yet. ErrNotFound: none is recorded. It needs berth 1.2.
func (c *Client) ExplanationShow(ctx context.Context, requestID string) ([]RecordedExplanation, error) {
	var answer struct {
		Explanations []RecordedExplanation `json:"explanations"`
	}
	err := c.explain(ctx, &answer, "explanations/"+url.PathEscape(requestID), nil)
	return answer.Explanations, err
}

// ExplanationList returns what found nothing, in pages of at most 1000. It needs berth 1.2.
func (c *Client) ExplanationList(ctx context.Context, filter ExplanationFilter) ([]api.ListedExplanation, error) {
	all := []api.ListedExplanation{}
	for marker := ""; ; {
		size := maxExplanationPage
		if filter.Limit > 0 {
			size = min(size, filter.Limit-len(all))
		}
		page, next, err := c.ExplanationPage(ctx, filter, size, marker)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if marker = next; marker == "" || filter.Limit > 0 && len(all) >= filter.Limit {
			return all, nil
		}
	}
}

// ExplanationPage returns a page of at most size elements of the list of explanations, and the marker of the next page;
// "" for the first and after the last one. It needs berth 1.2.
func (c *Client) ExplanationPage(ctx context.Context, filter ExplanationFilter, size int, marker string) (page []api.ListedExplanation, next string, err error) {
	var answer api.ExplanationList
	err = c.explain(ctx, &answer, "explanations", filter.params(size, marker))
	return answer.Explanations, nextMarker(answer.ExplanationsLinks), err
}

// params returns the query parameters of a page.
func (f ExplanationFilter) params(size int, marker string) []param {
	var all []param
	for _, item := range []param{
		{"kind", f.Kind}, {"reason", f.Reason}, {"since", f.Since}, {"sort", f.Sort}, {"limit", strconv.Itoa(size)}, {"marker", marker},
	} {
		if item.value != "" {
			all = append(all, item)
		}
	}
	return all
}

// nextMarker returns the marker of the link to the next page, or "" on the last page.
func nextMarker(links []api.Link) string {
	for _, link := range links {
		if next, err := url.Parse(link.Href); err == nil && link.Rel == "next" {
			return next.Query().Get("marker")
		}
	}
	return ""
}

// explain sends a GET that needs explanations.
func (c *Client) explain(ctx context.Context, into any, path string, params []param) error {
	return c.do(ctx, into, request{method: http.MethodGet, path: path, query: params, needs: berth12})
}
