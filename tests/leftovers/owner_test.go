package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const (
	someone = 65533
	another = 65534
)

// TestOfOthers makes things of two users and looks for those of one.
func TestOfOthers(t *testing.T) {
	needRoot(t, "make another user's things")
	for uid, seen := range map[uint32]bool{someone: true, another: false} {
		l := Looker{UID: someone}
		before, err := l.Look()
		if err != nil {
			t.Fatal(err)
		}

		dir, err := os.MkdirTemp("/dev/shm", "ramaria-leftover-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.Chown(dir, int(uid), int(uid)); err != nil {
			t.Fatal(err)
		}
		if got := reported(t, l, before, File, dir, 0); got != seen {
			t.Errorf("file of user %d: seen %t, want %t", uid, got, seen)
		}

		cmd := exec.Command("/bin/sh")
		cmd.Args = []string{"ramaria", "-c", "sleep 60 & wait", "sh", filepath.Base(dir)}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		t.Cleanup(start(t, cmd))
		if got := reported(t, l, before, Process, filepath.Base(dir), 0); got != seen {
			t.Errorf("process of user %d: seen %t, want %t", uid, got, seen)
		}
	}
}

func TestMountOfOthers(t *testing.T) {
	for _, tc := range []struct {
		uid     uint32
		options string
		others  bool
	}{
		{0, "rw,seclabel", false},
		{1000, "rw,seclabel", true},
		{1000, "rw,user_id=1000,group_id=1000", false},
		{1000, "rw,user_id=10001,group_id=1000", true},
	} {
		if got := (Looker{UID: tc.uid}).mountOfOthers(tc.options); got != tc.others {
			t.Errorf("mount %q seen by %d: of others is %t, want %t", tc.options, tc.uid, got, tc.others)
		}
	}
}
