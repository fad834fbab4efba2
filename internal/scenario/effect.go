package scenario

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// inRAM says that what a server writes here goes to memory, a block device or not.
func (p place) inRAM() bool {
	return p.name == placeRAMByHand || p.ramaria && p.kind != volume.Disk
}

// onNoRAM is the opposite of inRAM.
func onNoRAM(p place) bool { return !p.inRAM() }

// again is the command that repeats a row of a place.
func (l *Lab) again(scenario string, p place, more ...string) string {
	argv := []string{"ramaria bench", scenario + l.Options.Flags, "--place", p.name}
	if p.name == PlaceRamaria || p.name == PlaceLogOff {
		argv = append(argv, "--volume", string(p.kind))
	}
	argv = append(argv, more...)
	return strings.Join(argv, " ")
}

// disk is the device that a server's writes wear, none in RAM: an XFS there has a loop
// device, which counts what is a copy in memory.
func (r *running) disk() bench.Device {
	if r.inRAM() {
		return bench.Device{}
	}
	return r.device
}

// connect connects to the server, by the account that the rows use.
func (r *running) connect(database string) (*sql.DB, error) {
	return server.Open(r.endpoint.Socket, r.endpoint.Login, database)
}

// freshBytes is what a data directory of a stock server takes at most, and residentBytes its
// process when it has done some work; both measured, and rounded up.
func (l *Lab) freshBytes() int64 {
	if l.Server.Flavour == server.MySQL {
		return 256 << 20
	}
	return 192 << 20
}

func (l *Lab) residentBytes() int64 {
	if l.Server.Flavour == server.MySQL {
		return 600 << 20
	}
	return 160 << 20
}

// clockTick is the unit of the times in /proc/PID/stat: 100 a second on every Linux that has
// not been built otherwise since 2.6 (USER_HZ, proc_pid_stat(5)).
const clockTick = 10 * time.Millisecond

// serverPID is the process of the server at the other end.
func serverPID(ctx context.Context, db *sql.DB) (int, error) {
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

// cpuTime is how long a process has run on a processor so far, with all of its threads.
func cpuTime(pid int) (time.Duration, error) {
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
