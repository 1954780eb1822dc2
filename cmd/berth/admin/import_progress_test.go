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
		for done := range int64(12) { // without a total
			time.Sleep(time.Second)
			progress.tell("writing", 1000*done, 0)
		}
		progress.done()
		const want = "copying   4%  4 of 100\ncopying  10%  10 of 100\ncopying  20%  20 of 100\ncopying  30%  30 of 100\n" +
			"copying  40%  40 of 100\ncopying  50%  50 of 100\ncopying  60%  60 of 100\ncopying  70%  70 of 100\n" +
			"copying  80%  80 of 100\ncopying  90%  90 of 100\ncomparing\nwriting\nwriting 5000\nwriting 10000\n"
		if log.String() != want {
			t.Errorf("got\n%s", log.String())
		}
	})
}

func TestImport_ProgressOnTerminal_RedrawsOneLineOfEachStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		progress := newImportProgress(&log)
		progress.isTerminal = true
		progress.tell("copying", 0, 4)
		time.Sleep(time.Millisecond)
		progress.tell("copying", 1, 4) // too soon
		time.Sleep(3 * time.Second)
		progress.tell("copying", 1, 4)
		progress.tell("copying", 4, 4)
		progress.tell("writing", 0, 0)
		time.Sleep(time.Second)
		progress.tell("writing", 70, 0)
		progress.done()
		const want = "\rcopying     0% ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0 of 4 (0s)\x1b[K" +
			"\rcopying    25% ▇▇▇▇▇▇▇▇░░░░░░░░░░░░░░░░░░░░░░ 1 of 4 (3s, about 9s left)\x1b[K" +
			"\rcopying   100% ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ 4 of 4 (3s)\x1b[K\n" +
			"\rwriting   (0s)\x1b[K\rwriting   70 (1s)\x1b[K\n"
		if log.String() != want {
			t.Errorf("got\n%q\nwant\n%q", log.String(), want)
		}
	})
}
