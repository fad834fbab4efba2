package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// Scenario measures the memory of idle instances, many at once: the
// largest PSS of a server and its supervisor together. Files in the volume are
// not part of it.
func Scenario(l *lab.Lab) runner.Scenario {
	f := newInstanceSet(l)
	return f.scenario(runner.Scenario{
		Name: "memory", Rounds: 3, Title: fmt.Sprintf("PSS of an idle instance, server and supervisor, the largest of %d", f.size), Unit: runner.Bytes,
	}, f.one(fmt.Sprintf("one of %d", f.size), func(time.Duration) float64 { return float64(f.largest) }))
}

// measure finds the largest PSS of the instances that run.
func (f *instanceSet) measure() error {
	p, err := f.lab.HomeDirs()
	if err != nil {
		return err
	}
	f.largest = 0
	for _, name := range f.names() {
		r, err := instance.Registry{Dir: filepath.Join(p.State, "instances")}.Get(name)
		if err != nil {
			return err
		}
		state, err := r.State()
		if err != nil {
			return err
		}
		sum := int64(0)
		for _, pid := range []int{state.SupervisorPID, state.ServerPID} {
			n, err := pss(pid)
			if err != nil {
				return err
			}
			sum += n
		}
		f.largest = max(f.largest, sum)
	}
	return nil
}

// pss returns the proportional set size of a process in bytes: pages that several
// processes share count in parts (proc_pid_smaps(5)).
func pss(pid int) (int64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0, fmt.Errorf("measure memory: %w", err)
	}
	for _, l := range strings.Split(string(b), "\n") {
		if f := strings.Fields(l); len(f) == 3 && f[0] == "Pss:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("measure memory: no Pss in smaps_rollup of process %d", pid)
}
