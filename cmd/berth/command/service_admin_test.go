package command

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

func TestSettings_AdminListenLoopback_ServesPprof(t *testing.T) {
	t.Parallel()
	b := setupServe(t, "--database-url", dbtest.New(t).URL, "--baremetal-backend=off", "--admin-listen=localhost:0")
	admin := regexp.MustCompile(`serving the admin address" address=(\S+)`).FindStringSubmatch(b.stderr.String())[1]
	if status, _ := askAs(t, "http://"+admin+"/debug/pprof/"); status != http.StatusOK {
		t.Errorf("status = %d, want %d", status, http.StatusOK)
	}
}
