// Command leftovers ends the test suite: it fails if the tests left a mount, a loop
// or zram device, a process or a file behind.
//
//	leftovers -snapshot FILE            before the tests: note what is there already
//	leftovers -check FILE -below DIR    after them: name what was not, and exit 1
//	leftovers -excuse FILE -below DIR   after a first attempt that failed: name what was not, and note it too
//
// Things that were there before are never blamed, and nothing is removed: the report says what to
// look at. Only -excuse ends anything: processes that refer to DIR, and mounts in it, which would be in the
// way of the second attempt; the files stay, as a test that fails keeps them. -below names a directory that belongs to the
// tests alone (their TMPDIR; it may be given more than once): whatever is new and
// lies in it, or refers to it, is a leftover. Elsewhere only what carries the name
// of Ramaria is.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// settle is how long -check waits for what is just ending: a server that was told
// to stop, a lazy unmount.
const settle = 20 * time.Second

// settlePoll is the pause between two looks.
const settlePoll = 100 * time.Millisecond

// dirs is a flag that can be given more than once.
type dirs []string

func (d *dirs) String() string     { return strings.Join(*d, ",") }
func (d *dirs) Set(s string) error { *d = append(*d, s); return nil }

func main() {
	var below dirs
	snapshot := flag.String("snapshot", "", "write what is there to this `file`")
	check := flag.String("check", "", "compare with this `file`, written by -snapshot")
	excuse := flag.String("excuse", "", "add what is new to this `file`, written by -snapshot")
	flag.Var(&below, "below", "a `directory` that belongs to the tests alone")
	flag.Parse()

	var err error
	if *excuse != "" && *snapshot == "" && *check == "" {
		err = runExcuse(*excuse, below, settle)
	} else {
		err = run(*snapshot, *check, below, settle)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "leftovers:", err)
		os.Exit(1)
	}
}

func run(snapshot, check string, below []string, patience time.Duration) error {
	l := Looker{Below: below, UID: uint32(os.Geteuid())}
	switch {
	case (snapshot == "") == (check == ""):
		return errors.New("give one of -snapshot FILE, -check FILE and -excuse FILE")
	case snapshot != "":
		things, err := l.Look()
		if err != nil {
			return err
		}
		return save(snapshot, things)
	}
	before, err := load(check)
	if err != nil {
		return err
	}
	left, err := l.Settle(before, patience)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		fmt.Println("leftovers: none")
		return nil
	}
	for _, t := range tops(left) {
		fmt.Fprintf(os.Stderr, "left behind: %s\n", t)
	}
	return fmt.Errorf("the tests left %d things behind", len(left))
}

func save(path string, things []Thing) error {
	b, err := json.Marshal(things)
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

func load(path string) ([]Thing, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	var things []Thing
	if err := json.Unmarshal(b, &things); err != nil {
		return nil, fmt.Errorf("parse snapshot %s: %w", path, err)
	}
	return things, nil
}
