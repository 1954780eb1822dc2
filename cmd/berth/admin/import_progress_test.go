package admin

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestImport_ProgressToLog_Throttled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		progress := newImportProgress(&log)
		for range 3 { // soon done
			progress.tell("reading", 1, 2)
		}
		for done := range int64(100) {
			time.Sleep(time.Second)
			progress.tell("copying", done, 100)
		}
		progress.tell("comparing", 0, 0)
		time.Sleep(time.Minute)
		progress.tell("comparing", 0, 0)
		progress.done()
		const want = "copying   4%  4 of 100\ncopying  10%  10 of 100\ncopying  20%  20 of 100\ncopying  30%  30 of 100\n" +
			"copying  40%  40 of 100\ncopying  50%  50 of 100\ncopying  60%  60 of 100\ncopying  70%  70 of 100\n" +
			"copying  80%  80 of 100\ncopying  90%  90 of 100\ncomparing\n"
		if log.String() != want {
			t.Errorf("got\n%s", log.String())
		}
	})
}
