package serve

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/server/observe/auditlog"
)

func TestSettings_AuditLogCannotBeOpened_NamesTheSetting(t *testing.T) {
	t.Parallel()
	s := &service{Settings: &config.Settings{ObservabilitySettings: config.ObservabilitySettings{AuditLog: auditlog.Options{Path: filepath.Join(t.TempDir(), "none", "audit.log")}}}}
	if err := s.openAuditLog(); err == nil || !strings.Contains(err.Error(), "--audit-log") {
		t.Errorf("error = %v", err)
	}
}
