// Command vm runs scenarios in whole virtual machines: Debian with systemd, its kernel and its servers, under software
// emulation. `make test-vm` runs it by hand; it is not part of CI.
//
//	go run ./tests/vm -ramaria bin/ramaria -work DIR [SCENARIO...]
//
// A scenario is a file in scenarios/: which suites of Debian with which packages, and the scripts of its boots. A script that says
// "POWER CUT" has its machine killed there; the others power off. It needs qemu-system-x86_64, mmdebstrap and mke2fs, and root.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

//go:embed scenarios
var scenarios embed.FS

func main() {
	var l lab
	flag.StringVar(&l.ramaria, "ramaria", "bin/ramaria", "the program")
	flag.StringVar(&l.work, "work", "/var/tmp/ramaria-vm", "directory for machines, which are kept for the next time")
	flag.BoolVar(&l.verbose, "v", false, "print all that machines say")
	flag.Parse()
	if err := l.run(context.Background(), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(1)
	}
}

// lab is where machines are built and run.
type lab struct {
	ramaria, work string
	verbose       bool
}

// run runs the scenarios of these names, or all.
func (l *lab) run(ctx context.Context, names []string) error {
	files, err := scenarios.ReadDir("scenarios")
	if err != nil {
		return err
	}
	var failed []string
	total := 0
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".txtar")
		if !strings.HasSuffix(f.Name(), ".txtar") || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		text, err := scenarios.ReadFile(path.Join("scenarios", f.Name()))
		if err != nil {
			return err
		}
		a := txtar.Parse(text)
		s := setupOf(string(a.Comment))
		for _, suite := range s.suites {
			began := time.Now()
			n, err := l.scenario(ctx, suite, s, a.Files)
			total += n
			if err != nil {
				failed = append(failed, name)
				fmt.Printf("FAIL %s on %s: %s\n", name, suite, err)
				continue
			}
			fmt.Printf("PASS %s on %s: %d checks, %s\n", name, suite, n, time.Since(began).Round(time.Second))
		}
	}
	switch {
	case total == 0 && len(failed) == 0:
		return errors.New("no such scenario")
	case len(failed) > 0:
		return fmt.Errorf("failed: %s", strings.Join(failed, " "))
	}
	return nil
}

// setup is what the lines above the scripts of a scenario say.
type setup struct {
	// suites are those of Debian on which the scenario is run, on each from the beginning.
	suites []string
	// packages are in its machines besides those of all, separated by commas.
	packages string
	// cpus is how many a machine has, "" for two.
	cpus string
}

func setupOf(comment string) (s setup) {
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "suites":
			s.suites = strings.Fields(value)
		case "packages":
			s.packages = value
		case "cpus":
			s.cpus = value
		}
	}
	return s
}

// scenario builds the machine of a scenario and boots it for each of its scripts. It returns how many checks were made.
func (l *lab) scenario(ctx context.Context, suite string, s setup, scripts []txtar.File) (checks int, err error) {
	prelude, err := scenarios.ReadFile("scenarios/prelude.sh")
	if err != nil {
		return 0, err
	}
	m, err := l.machine(ctx, suite, s)
	if err != nil {
		return 0, err
	}
	for _, boot := range scripts {
		name, arguments, _ := strings.Cut(boot.Name, " ")
		fmt.Printf("  %s\n", name)
		n, err := m.boot(ctx, string(prelude)+string(boot.Data), arguments)
		checks += n
		if err != nil {
			return checks, fmt.Errorf("%s: %w", name, err)
		}
		if n == 0 {
			return checks, fmt.Errorf("%s: it checked nothing", name)
		}
	}
	return checks, nil
}
