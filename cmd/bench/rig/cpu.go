package rig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/process"
)

// clockTick is the unit of times in /proc/PID/stat (USER_HZ).
const clockTick = 10 * time.Millisecond

// PostgresCPU reads the CPU time of the private PostgreSQL, on Linux.
type PostgresCPU struct{ postmaster int }

// PostgresCPU finds the first process of the private PostgreSQL.
func (r *Rig) PostgresCPU(ctx context.Context) (PostgresCPU, error) {
	conn, err := pgx.Connect(ctx, r.URL("postgres"))
	if err != nil {
		return PostgresCPU{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	stat, err := readStat(int(conn.PgConn().PID()))
	return PostgresCPU{stat.parent}, err
}

// Read returns the CPU time that the scheduler has given to all processes of PostgreSQL:
// those that run, in nanoseconds, and those that have ended, in clock ticks.
func (c PostgresCPU) Read() (time.Duration, error) {
	stat, err := readStat(c.postmaster)
	if err != nil {
		return 0, err
	}
	sum, err := scheduled(c.postmaster)
	if err != nil {
		return 0, err
	}
	sum += stat.ended
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", c.postmaster))
	if err != nil {
		return 0, err
	}
	for child := range strings.FieldsSeq(string(children)) {
		pid, err := strconv.Atoi(child)
		if err != nil {
			return 0, err
		}
		one, err := scheduled(pid)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it has ended
			return 0, err
		}
		sum += one
	}
	return sum, nil
}

// processStat is a part of /proc/PID/stat: the parent, and the time of ended children.
type processStat struct {
	parent int
	ended  time.Duration
}

// readStat reads the fields after the name of the program, which may contain spaces.
func readStat(pid int) (processStat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processStat{}, err
	}
	return parseStat(string(text))
}

func parseStat(text string) (processStat, error) {
	const parent, childUser, childSystem = 1, 13, 14 // after the name; the third field of all is the first
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	if len(fields) <= childSystem {
		return processStat{}, fmt.Errorf("/proc/PID/stat has %d fields after the name", len(fields))
	}
	numbers := make([]int64, 0, 3)
	for _, field := range []int{parent, childUser, childSystem} {
		number, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return processStat{}, fmt.Errorf("/proc/PID/stat: %w", err)
		}
		numbers = append(numbers, number)
	}
	return processStat{int(numbers[0]), time.Duration(numbers[1]+numbers[2]) * clockTick}, nil
}

// scheduled returns the time that the scheduler has given to the threads of a process.
func scheduled(pid int) (time.Duration, error) {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, thread := range threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, thread.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the thread has ended
		}
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(text), " ")
		nanoseconds, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("schedstat of %d: %w", pid, err)
		}
		sum += time.Duration(nanoseconds)
	}
	return sum, nil
}

// ProcessCPU returns the CPU time of a process.
func ProcessCPU(of *process.Process) (time.Duration, error) { return scheduled(of.PID()) }
