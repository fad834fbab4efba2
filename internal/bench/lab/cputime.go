package lab

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of the times in /proc/PID/stat: 100 a second on every Linux that has
// not been built otherwise since 2.6 (USER_HZ, proc_pid_stat(5)).
const clockTick = 10 * time.Millisecond

// ServerPID is the process of the server at the other end.
func ServerPID(ctx context.Context, db *sql.DB) (int, error) {
	var file string
	if err := db.QueryRowContext(ctx, "SELECT @@pid_file").Scan(&file); err != nil {
		return 0, fmt.Errorf("find the server's process: %w", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("find the server's process: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// CPUTime is how long a process has run on a processor so far, with all of its threads.
func CPUTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, fmt.Errorf("measure processor time: %w", err)
	}
	return parseCPUTime(string(text))
}

// parseCPUTime reads proc_pid_stat(5): after the name, which may hold anything, user time is
// the 12th figure and system time the 13th.
func parseCPUTime(stat string) (time.Duration, error) {
	const user, system = 11, 12
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= system {
		return 0, fmt.Errorf("measure processor time: %d figures", len(fields))
	}
	var ticks int64
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("measure processor time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}
