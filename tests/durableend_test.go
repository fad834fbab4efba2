package tests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// An ending is how an instance ends, under load or just after it.
type ending struct {
	name string
	// down is a clean `ramaria down`; else a process is killed: the supervisor, or the server.
	down, server bool
	// quiet ends the writers before that.
	quiet bool
	// lost takes the volume in RAM away after it.
	lost bool
	// flush switches to the next file of the log all the time.
	flush bool
	// bases has base backups made all the time.
	bases bool
	// again is how many recoveries are killed, each at a random moment; odd ones lose the RAM once more.
	again int
}

var endings = []ending{
	{name: "supervisor killed, RAM lost", lost: true},
	{name: "supervisor killed"},
	{name: "supervisor killed, RAM lost, two recoveries killed", lost: true, again: 2},
	{name: "down under load, RAM lost", down: true, lost: true},
	{name: "supervisor killed while bases are made, RAM lost", lost: true, bases: true},
	{name: "server killed, RAM lost", server: true, lost: true},
	{name: "supervisor killed between files of the log, RAM lost", lost: true, flush: true},
	{name: "server killed", server: true},
	{name: "supervisor killed, RAM lost, a recovery killed", lost: true, again: 1},
	{name: "down, RAM lost", down: true, quiet: true, lost: true},
	{name: "supervisor killed between files of the log", flush: true},
	{name: "down under load", down: true},
	{name: "supervisor killed, two starts killed", again: 2},
}

// end ends the instance.
func (d *durable) end(t *testing.T, e ending, ended func(stop bool) error) error {
	t.Helper()
	var p pids
	if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &p); err != nil {
		t.Fatal(err)
	}
	if e.quiet {
		if err := ended(true); err != nil {
			return err
		}
	}
	handles, err := openProcesses(p.Supervisor, p.Server)
	if err != nil {
		return err
	}
	switch {
	case e.down:
		if _, talk, err := d.try("down", durableName); err != nil {
			return fmt.Errorf("down: %w: %s", err, talk)
		}
	case e.server:
		err = syscall.Kill(p.Server, syscall.SIGKILL)
	default:
		err = syscall.Kill(p.Supervisor, syscall.SIGKILL)
	}
	if err := errors.Join(err, ended(false), gone(handles)); err != nil {
		return err
	}
	if e.lost {
		return d.loseRAM()
	}
	return nil
}

func openProcesses(pids ...int) (list []*sys.Process, err error) {
	for _, pid := range pids {
		p, err := sys.OpenProcess(pid)
		if err != nil {
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// gone waits until processes have ended.
func gone(list []*sys.Process) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, p := range list {
		if err := errors.Join(p.WaitExit(ctx), p.Close()); err != nil {
			return fmt.Errorf("an orphan: %w", err)
		}
	}
	return nil
}

// loseRAM takes the volume away, as a reboot does.
func (d *durable) loseRAM() error {
	if d.kind == "shm" {
		return os.RemoveAll(d.places.Shm)
	}
	dir := filepath.Join(d.places.Mounts, d.kind)
	if there, err := sys.Mounted(dir); err != nil || !there {
		return err // a recovery was killed before it had a volume
	}
	if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("umount %s: %w: %s", dir, err, out)
	}
	return nil
}

// cutOff has `up` start and kills it at a random moment, with what it has started.
func (d *durable) cutOff(t *testing.T, lost bool) error {
	t.Helper()
	cmd := d.command("up", durableName)
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(rand.N(1500 * time.Millisecond)) // #nosec G404 -- no secret
	_ = cmd.Process.Kill()                      // it may have ended
	_ = cmd.Wait()
	for end := time.Now().Add(patience); ; time.Sleep(untilPause) {
		list := d.processes()
		if len(list) == 0 {
			break
		}
		for _, pid := range list {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if time.Now().After(end) {
			return fmt.Errorf("processes %d live on", list)
		}
	}
	// Names of half written records; the test ends with a look at what is left.
	half, _ := filepath.Glob(filepath.Join(d.places.State, "instances", ".tmp-*"))
	for _, path := range half {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	d.cut++
	if lost {
		return d.loseRAM()
	}
	return nil
}
