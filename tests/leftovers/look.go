package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Kind is what sort of thing was found.
type Kind string

// The kinds that are looked for.
const (
	Mount   Kind = "mount"
	Loop    Kind = "loop device"
	Zram    Kind = "zram device"
	Process Kind = "process"
	File    Kind = "file"
)

// Thing is one thing on this machine that may turn out to be a leftover.
type Thing struct {
	Kind Kind `json:"kind"`
	// Key identifies it between two looks; a process id alone would not.
	Key string `json:"key"`
	// Detail says what a person needs to find it.
	Detail string `json:"detail,omitempty"`
}

// String returns one line for the report.
func (t Thing) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", t.Kind, t.Key, t.Detail))
}

// names are what the paths, file systems and processes of the project carry.
var names = []string{"ramaria", "wheatfs"}

// Looker finds things that are ours by their name or by where they lie. It reads
// only; the zero value looks for names alone.
type Looker struct {
	// Below are directories that belong to the tests alone.
	Below []string
	// UID is whose things are looked for outside of Below; root, the zero value, asks for everybody's.
	UID uint32
}

// Look returns everything that is ours now, old and new.
func (l Looker) Look() ([]Thing, error) {
	var all []Thing
	seen := map[Thing]bool{} // a test directory may lie in a place that is searched anyway
	for _, find := range []func() ([]Thing, error){l.mounts, l.loops, l.zrams, l.processes, l.files} {
		things, err := find()
		if err != nil {
			return nil, err
		}
		for _, t := range things {
			if !seen[t] {
				seen[t] = true
				all = append(all, t)
			}
		}
	}
	return all, nil
}

// Settle returns what is there and was not before. It looks again until nothing is
// left, but for things of the kinds that may stay, or the time is over.
func (l Looker) Settle(before []Thing, patience time.Duration, mayStay ...Kind) ([]Thing, error) {
	known := make(map[Thing]bool, len(before))
	for _, t := range before {
		known[Thing{Kind: t.Kind, Key: t.Key}] = true
	}
	for end := time.Now().Add(patience); ; time.Sleep(settlePoll) {
		now, err := l.Look()
		if err != nil {
			return nil, err
		}
		var left []Thing
		for _, t := range now {
			if !known[Thing{Kind: t.Kind, Key: t.Key}] {
				left = append(left, t)
			}
		}
		waits := slices.ContainsFunc(left, func(t Thing) bool { return !slices.Contains(mayStay, t.Kind) })
		if !waits || time.Now().After(end) {
			return left, nil
		}
	}
}

// tops leaves out the files whose directory is a leftover itself: one line tells of
// a whole instance.
func tops(left []Thing) []Thing {
	dirs := map[string]bool{}
	for _, t := range left {
		if t.Kind == File {
			dirs[t.Key] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(left), func(t Thing) bool {
		return t.Kind == File && dirs[filepath.Dir(t.Key)]
	})
}

// ours tells whether a path, or a text that may hold one, is the project's: it
// lies in one of the test directories, or one of its parts begins with a name.
func (l Looker) ours(text string) bool {
	for _, dir := range l.Below {
		if strings.Contains(text+"/", filepath.Clean(dir)+"/") {
			return true
		}
	}
	for _, name := range names {
		if strings.HasPrefix(text, name) || strings.Contains(text, "/"+name) || strings.Contains(text, "/."+name) {
			return true
		}
	}
	return false
}
