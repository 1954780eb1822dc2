package open

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/berthd/berth/cmd/berth/config"
)

// narrowDisk takes so many bytes and then a part of each line.
type narrowDisk struct {
	room int
	took bytes.Buffer
}

func (d *narrowDisk) Write(line []byte) (int, error) {
	fits := min(len(line), d.room)
	d.room -= fits
	d.took.Write(line[:fits])
	if fits < len(line) {
		return fits, syscall.ENOSPC
	}
	return fits, nil
}

func TestMetrics_LogNotWritten_CountsLostLinesAndReportsThem(t *testing.T) {
	t.Parallel()
	disk := &narrowDisk{room: 10}
	log := &CountedLog{Out: disk, LostLine: func(count int64) []byte { return fmt.Appendf(nil, "%d lost\n", count) }}
	for _, line := range []string{"first\n", "second\n", "third\n"} {
		if written, err := log.Write([]byte(line)); written != len(line) || err != nil {
			t.Errorf("Write = %d, %v, want no failure", written, err)
		}
	}
	if got := log.LinesLost(); got != 2 {
		t.Errorf("linesLost = %d, want 2", got)
	}
	disk.room = 3 // not enough for the report
	log.Write([]byte("fourth\n"))
	disk.room = 1000
	log.Write([]byte("fifth\n"))
	log.Write([]byte("sixth\n"))
	if got, want := disk.took.String(), "first\nseco\n2 \n3 lost\nfifth\nsixth\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
	if got := log.LinesLost(); got != 3 {
		t.Errorf("linesLost = %d, want 3", got)
	}
}

func TestMetrics_LostLines_AreReportedInTheFormatOfTheLog(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		config.LogText: "lines=7\n", config.LogJSON: `"lines":7}` + "\n", config.LogOslo: "ERROR berth",
	} {
		line := string(LostLineOf(&config.Settings{LogFormat: format, LogLevel: "error"})(7))
		if !strings.Contains(line, want) || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: the line is %q, want one with %q", format, line, want)
		}
	}
}
