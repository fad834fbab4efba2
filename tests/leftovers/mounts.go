package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mounts reads mountinfo(5): fields 4 and 5 are root and mount point, then after
// the hyphen come the file system's type and source.
func (l Looker) mounts() ([]Thing, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	var found []Thing
	for line := range strings.Lines(string(b)) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 2 {
			continue
		}
		point, kind, source := left[4], strings.TrimPrefix(right[0], "fuse."), right[1]
		if (l.ours(point) || l.ours(kind) || l.ours(source)) && !l.mountOfOthers(right[len(right)-1]) {
			// The mount's number tells a new mount from an old one on the same point.
			found = append(found, Thing{Mount, left[0] + " " + point, kind + " from " + source})
		}
	}
	return found, nil
}

// loops reads the loop devices that have a backing file. A backing file that
// cannot be seen lies in a mount of somebody's own, as those of Ramaria do, or was
// deleted: it counts too.
func (l Looker) loops() ([]Thing, error) {
	if l.UID != 0 {
		return nil, nil
	}
	backings, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, fmt.Errorf("list loop devices: %w", err)
	}
	var found []Thing
	for _, file := range backings {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // detached meanwhile
		}
		backing := strings.TrimSpace(string(b))
		_, err = os.Stat(backing)
		if l.ours(backing) || err != nil {
			name := strings.Split(file, "/")[3]
			found = append(found, Thing{Loop, "/dev/" + name + " " + diskSequence(name), "over " + backing})
		}
	}
	return found, nil
}

// zrams reads the zram devices that are set up. They carry no name: each that
// was not there before counts. One that is not set up holds nothing, and is what the
// kernel has from the start.
func (l Looker) zrams() ([]Thing, error) {
	if l.UID != 0 {
		return nil, nil
	}
	sizes, err := filepath.Glob("/sys/block/zram*/disksize")
	if err != nil {
		return nil, fmt.Errorf("list zram devices: %w", err)
	}
	var found []Thing
	for _, file := range sizes {
		b, err := os.ReadFile(file)
		if size := strings.TrimSpace(string(b)); err == nil && size != "0" {
			name := strings.Split(file, "/")[3]
			found = append(found, Thing{Zram, "/dev/" + name + " " + diskSequence(name), size + " bytes"})
		}
	}
	return found, nil
}

// diskSequence tells a block device from an earlier one of its name: "disk 42". See
// https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block, diskseq)
func diskSequence(name string) string {
	b, err := os.ReadFile(filepath.Join("/sys/block", name, "diskseq"))
	if err != nil {
		return "disk" // before Linux 5.15, or gone meanwhile
	}
	return "disk " + strings.TrimSpace(string(b))
}
