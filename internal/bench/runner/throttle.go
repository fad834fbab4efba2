package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// MinRate is the fewest operations a second that a disk can be held to: below it a server
// does not start in the time that it has.
const MinRate = 20

// Throttle holds processes back. That of NewThrottle is a control group whose members get so many I/O
// operations a second of one device, each way. It shows what a slower disk would do to a server, not what a certain
// disk is like: there is no seek time and no queue. What it holds back is what a member
// waits for: reads, direct writes, and the pages that fsync writes out. What escapes it are
// writes that are only left in the page cache, which the kernel writes by itself later (with
// version 1 of control groups; version 2 counts them where the file system can tell whose
// they are), and the commits of the file system's own journal.
type Throttle struct {
	dir string // "" for none
	// lifts are files that end a limit without a group, and what is written to them.
	lifts map[string]string
	// memory is the file of the group that limits its memory, "" for none, and limit what it says.
	memory, limit string
	// writes is the file that limits writes to a device, and is told the text of writeLimit; "" for none.
	writes     string
	writeLimit func(rate int) string
}

// controlGroup is a place where groups with limits can be made, by version 1 or 2 of the
// kernel's control groups.
type controlGroup struct {
	root        string
	controllers []string          // of version 2
	limits      map[string]string // the files of a group and what is written to them
}

// controlGroups are those by which a device can be held to a rate.
// https://docs.kernel.org/admin-guide/cgroup-v1/blkio-controller.html
// https://docs.kernel.org/admin-guide/cgroup-v2.html#io
func controlGroups(h host.Host, number string, rate int) []controlGroup {
	one := fmt.Sprintf("%s %d", number, rate)
	return []controlGroup{
		{rooted(h, "/sys/fs/cgroup"), []string{"io"}, map[string]string{"io.max": fmt.Sprintf("%s riops=%d wiops=%d", number, rate, rate)}},
		{rooted(h, "/sys/fs/cgroup/blkio"), nil, map[string]string{"blkio.throttle.read_iops_device": one, "blkio.throttle.write_iops_device": one}},
	}
}

// NewThrottle makes one for the device below path, of rate operations a second. ErrUnavailable
// says that this machine or user cannot.
func NewThrottle(h host.Host, path string, rate int) (*Throttle, error) {
	number, err := diskBelow(h, path)
	if err != nil {
		return nil, err
	}
	t, err := newThrottle("I/O", controlGroups(h, number, rate))
	if err != nil {
		return nil, fmt.Errorf("hold back device %s: %w", number, err)
	}
	return t, nil
}

// diskBelow is the number of the disk that a path lies on, ErrUnavailable if there is none to hold back.
func diskBelow(h host.Host, path string) (string, error) {
	d := DeviceOf(h, path)
	if !d.Exists() {
		return "", fmt.Errorf("%w: there is no block device below %s to hold back\nhint: --disk DIR on a disk, and not on an overlay, in memory or on a network", ErrUnavailable, path)
	}
	number, err := d.whole()
	if err != nil {
		return "", fmt.Errorf("%w: find the disk of device %s: %w", ErrUnavailable, d.number, err)
	}
	return number, nil
}

// newThrottle makes the first group that can be had, which limits what it is for.
func newThrottle(what string, of []controlGroup) (*Throttle, error) {
	for _, g := range of {
		// Below /sys/fs/cgroup of version 1 there are only the controllers.
		if _, err := os.Stat(filepath.Join(g.root, groupProcs)); err != nil {
			continue
		}
		t := &Throttle{dir: filepath.Join(g.root, throttlePrefix(os.Getpid())+strconv.FormatInt(time.Now().UnixNano(), 10))}
		if err := t.make(g); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(err, t.Remove()))
		}
		return t, nil
	}
	return nil, fmt.Errorf("%w: there are no control groups that limit %s\nhint: mount their controller, or run it outside of the container", ErrUnavailable, what)
}

// throttlePrefix begins the names of the groups of a process.
func throttlePrefix(pid int) string { return fmt.Sprintf("ramaria-bench-%d-", pid) }

func (t *Throttle) make(g controlGroup) error {
	// In version 2 a group hands its controllers down one by one; version 1 has no such file.
	handed, err := os.ReadFile(filepath.Join(g.root, "cgroup.subtree_control"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		for _, c := range g.controllers {
			if !slices.Contains(strings.Fields(string(handed)), c) {
				return fmt.Errorf("%s does not hand the %s controller down\nhint: as root, echo +%[2]s > %[1]s/cgroup.subtree_control", g.root, c)
			}
		}
	}
	if err := os.Mkdir(t.dir, 0o755); err != nil {
		return fmt.Errorf("%w\nhint: control groups are made by root", err)
	}
	for name, limit := range g.limits {
		if err := os.WriteFile(filepath.Join(t.dir, name), []byte(limit), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Add puts a process under it, with the threads that it has. A nil Throttle holds nothing back.
func (t *Throttle) Add(pid int) error {
	if t.Procs() == "" {
		return nil
	}
	if err := os.WriteFile(t.Procs(), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		return fmt.Errorf("hold back process %d: %w", pid, err)
	}
	return nil
}

// Procs is the file that a process joins by writing its number to it, "" where there is none to join.
func (t *Throttle) Procs() string {
	if t == nil || t.dir == "" {
		return ""
	}
	return filepath.Join(t.dir, groupProcs)
}

// groupProcs is the file of a group that has the numbers of its members.
const groupProcs = "cgroup.procs"

// throttleGone is how long the kernel may take to see that a member has ended.
const throttleGone = 5 * time.Second

// Remove removes it; its members have ended, or do within throttleGone. It may be nil, and called
// more than once.
func (t *Throttle) Remove() error {
	if t == nil {
		return nil
	}
	for file, text := range t.lifts {
		if err := os.WriteFile(file, []byte(text), 0); err != nil {
			return fmt.Errorf("end holding a device back: %w", err)
		}
		delete(t.lifts, file)
	}
	if t.dir == "" {
		return nil
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := os.Remove(t.dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if errors.Is(err, syscall.EBUSY) && time.Since(began) <= throttleGone {
			continue
		}
		if errors.Is(err, syscall.EBUSY) {
			if err = t.evict(); err == nil {
				err = os.Remove(t.dir)
			}
		}
		if err != nil {
			return fmt.Errorf("end holding a device back: %w", err)
		}
		return nil
	}
}

// evict puts the members that are left, which somebody has kept from ending, into the group above, where nothing
// holds them back.
func (t *Throttle) evict() error {
	text, err := os.ReadFile(t.Procs())
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(string(text)) {
		err := os.WriteFile(filepath.Join(filepath.Dir(t.dir), groupProcs), []byte(pid), 0)
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("move process %s: %w", pid, err)
		}
	}
	return nil
}

// Throttles are the directories of all throttles of a process, which may be gone.
func Throttles(h host.Host, pid int) ([]string, error) {
	var list []string
	for _, g := range append(controlGroups(h, "", 0), memoryGroups(h, 0, 0)[1:]...) {
		dirs, err := sys.Glob(g.root, throttlePrefix(pid)+"*")
		if err != nil {
			return nil, err
		}
		list = append(list, dirs...)
	}
	return list, nil
}

// RemoveThrottles removes those of a process that is gone. Of one that runs nothing is removed,
// which is no error: another may have the number by now.
func RemoveThrottles(h host.Host, pid int) error {
	if p, err := sys.OpenProcess(pid); !errors.Is(err, sys.ErrNoProcess) {
		if err == nil {
			p.Close()
		}
		return err
	}
	dirs, err := Throttles(h, pid)
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, (&Throttle{dir: dir}).Remove())
	}
	return errors.Join(errs...)
}
