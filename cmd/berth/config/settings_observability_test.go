package config

import (
	"net"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server/observe/auditlog"
)

func TestSettings_AuditLogRequiredWithoutAuditLog_IsRejected(t *testing.T) {
	t.Parallel()
	s := &ObservabilitySettings{AuditLog: auditlog.Options{Required: true}}
	find := func(name string) setting.Setting { return setting.Setting{Name: name, Text: "true", Origin: "flag"} }
	if wrong := s.validateCombination(find); len(wrong) != 1 || !strings.Contains(wrong[0].Error(), "set --audit-log") {
		t.Errorf("errors = %v", wrong)
	}
	s.AuditLog.Path = "-"
	if wrong := s.validateCombination(find); wrong != nil {
		t.Errorf("errors = %v", wrong)
	}
}

func TestSettings_AdminListenPublic_PprofNeedsFlag(t *testing.T) {
	t.Parallel()
	for address, public := range map[string]bool{
		"127.0.0.1:9100": false, "[::1]:9100": false, "0.0.0.0:9100": true, "[::]:9100": true, "192.0.2.7:9100": true,
	} {
		at, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if hidden := !new(ObservabilitySettings).Profiles(at); hidden != public {
			t.Errorf("%s: hidden = %t, want %t", address, hidden, public)
		}
		if !(&ObservabilitySettings{AdminPprof: true}).Profiles(at) {
			t.Errorf("%s: hidden with --admin-pprof", address)
		}
	}
}

func TestSettings_InvalidObservability_AllReported(t *testing.T) {
	t.Parallel()
	_, _, err := loaded(t, ForServer, []string{
		"--trace-endpoint=collector:4318", "--trace-sample-ratio=NaN", "--admin-listen=nowhere", "--slow-query-threshold=fast", "--log-format=xml",
	}, nil)
	if err == nil {
		t.Fatal("all of it was taken")
	}
	for _, name := range []string{"trace-endpoint", "trace-sample-ratio", "admin-listen", "slow-query-threshold", "log-format"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is taken: %v", name, err)
		}
	}
}
