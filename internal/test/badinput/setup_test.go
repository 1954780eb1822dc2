package badinput

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/jackc/pgx/v5"
)

// furnish sends the furnishing requests and returns the failed ones. The first time all must
// succeed.
func (s *tested) furnish() (refused string) {
	s.t.Helper()
	for _, one := range furnishing {
		if one.method == "" {
			if _, err := s.db.Pool.Exec(s.t.Context(), one.body); err != nil {
				refused = err.Error()
			}
			continue
		}
		if status, err := s.take(one); status >= http.StatusBadRequest || err != nil {
			refused = err.Error()
		}
	}
	return refused
}

// take sends a step as an administrator with the newest versions. An error response is an error,
// too; it returns the status.
func (s *tested) take(one step) (status int, err error) {
	m := one.message()
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(m.wire())))
	if err != nil {
		return 0, err
	}
	answer := httptest.NewRecorder()
	if s.handler.ServeHTTP(answer, r.WithContext(s.t.Context())); answer.Code >= http.StatusBadRequest {
		return answer.Code, fmt.Errorf("%s %s: status %d, %s", one.method, one.target, answer.Code, answer.Body)
	}
	return answer.Code, nil
}

// maxSceneAttempts limits how often a scene is created again because a claim of another sender, whose query may choose any
// provider, has used one of its providers.
const maxSceneAttempts = 10

// build takes the steps of a scene. It returns the status and the error of the first one that fails.
func (s *tested) build(scene []step, own *strings.Replacer) (status int, err error) {
	for _, one := range scene {
		status, err = s.take(step{one.method, own.Replace(one.target), own.Replace(one.body)})
		if err != nil && (status != http.StatusNotFound || one.method != http.MethodDelete) {
			return status, err
		}
	}
	return http.StatusOK, nil
}

// release deletes the consumers that have allocations on some providers.
func (s *tested) release(providers ...string) {
	rows, err := s.db.Pool.Query(s.t.Context(), `SELECT DISTINCT consumer.uuid::text FROM consumers AS consumer
		JOIN allocations AS allocation ON allocation.consumer_id = consumer.id
		JOIN resource_providers AS provider ON provider.id = allocation.provider_id
		WHERE provider.uuid = ANY ($1::uuid[])`, providers)
	if err != nil {
		s.t.Error(err)
		return
	}
	holding, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Error(err)
	}
	for _, consumer := range holding {
		_, _ = s.take(step{http.MethodDelete, "/allocations/" + consumer, ""}) // another sender may have deleted it
	}
}

// play creates the scene of a request from an example, spoiled or not, and replaces the IDs in the
// request by those of the sender. Only resources to delete may be missing.
func (s *tested) play(m *message, sender int) error {
	if m.scene == nil {
		return nil
	}
	own := ownIDs(sender)
	status, err := s.build(m.scene, own)
	for attempt := 0; status == http.StatusConflict && attempt < maxSceneAttempts; attempt++ {
		s.release(own.Replace(providers[0]), own.Replace(providers[1]))
		status, err = s.build(m.scene, own)
	}
	if err != nil {
		return fmt.Errorf("cannot create the scene: %w", err)
	}
	m.target, m.body = own.Replace(m.target), []byte(own.Replace(string(m.body)))
	return nil
}
