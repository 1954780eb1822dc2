package rig

import (
	"os"
	"testing"
	"time"
)

func TestBench_ProcessStat_SkipsTheNameOfTheProgram(t *testing.T) {
	t.Parallel()
	const text = "42 (a (b) c) S 7 1 1 0 -1 0 0 0 0 0 11 12 130 27 20 0 1 0 9 0 0\n"
	stat, err := parseStat(text)
	if want := (processStat{parent: 7, ended: 1570 * time.Millisecond}); stat != want || err != nil {
		t.Errorf("stat = %+v, %v, want %+v", stat, err, want)
	}
	if _, err := parseStat("42 (a) S 7"); err == nil {
		t.Error("a truncated stat is no error")
	}
}

func TestBench_CPUTime_GrowsWithWork(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("CPU times need Linux")
	}
	before, err := scheduled(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < 50*time.Millisecond; {
	}
	after, err := scheduled(os.Getpid())
	if err != nil || after <= before {
		t.Errorf("CPU time = %s after %s, %v", after, before, err)
	}
}
