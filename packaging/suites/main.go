// Suites measures the projects in docs/examples, each in all the ways that its bench.sh has, and prints the table of
// README.md: the usual way on disk, loaded again in RAM, Ramaria, and the tests that leak. Results stay in a directory.
//
//	go run ./packaging/suites [-only go,node] [-out DIR] -clone CLONE bin/ramaria [FLAGS of ramaria bench suite...]
//
// CLONE is a clone in which `make clients` was run; the projects are those of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/tests/examples"
)

type options struct {
	ramaria, clone, out string
	only                []string
	flags               []string // of ramaria bench suite
}

func main() {
	var o options
	only := flag.String("only", "", "measure these projects alone, with commas between them")
	flag.StringVar(&o.out, "out", "bin/suites", "directory of the results")
	flag.StringVar(&o.clone, "clone", ".", "clone with the clients that make clients has built")
	flag.Parse()
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	if o.ramaria = flag.Arg(0); flag.NArg() > 1 {
		o.flags = flag.Args()[1:]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.ramaria == "" {
		return errors.New("invalid arguments: want the path of ramaria")
	}
	for _, path := range []*string{&o.ramaria, &o.clone, &o.out} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "suites-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	table := [][]string{{"project", "usual, disk", "again, RAM", "Ramaria", "gain", "leaking tests"}}
	for _, p := range examples.Projects {
		if p.Plain == "" || len(o.only) > 0 && !slices.Contains(o.only, p.Name) {
			continue
		}
		result, err := o.measure(ctx, tmp, p)
		if err != nil {
			return fmt.Errorf("measure %s: %w", p.Name, err)
		}
		table = append(table, line(p.Title, result))
	}
	_, err = os.Stdout.WriteString(markdown(table))
	return err
}

// measure copies a project, makes it ready as its page says, and runs its bench.sh.
func (o options) measure(ctx context.Context, tmp string, p examples.Project) (runner.Result, error) {
	text, err := os.ReadFile(filepath.Join("docs", p.Page))
	if err != nil {
		return runner.Result{}, err
	}
	into := filepath.Join(tmp, p.Name)
	if err := os.Mkdir(into, 0o700); err != nil {
		return runner.Result{}, err
	}
	dir, err := examples.Copy(ctx, string(text), o.clone, p.Name, into)
	if err != nil {
		return runner.Result{}, err
	}
	if err := enlarge(filepath.Join(dir, "..", "shop.sql")); err != nil {
		return runner.Result{}, err
	}
	saved := filepath.Join(o.out, p.Name+".json")
	var commands []string
	// Those with a helper run once before, on no server that is measured: what they compile and fetch is there then.
	if p.Page == examples.Helpers {
		commands = append(examples.Commands(string(text), p.Section), `ramaria down "$RAMARIA_INSTANCE" --rm`)
	}
	commands = append(commands, `sh bench.sh --save "$SAVED" "$@"`)
	script := strings.ReplaceAll(strings.Join(commands, "\n"), "CLONE", o.clone)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-ec", script, "bench.sh"}, o.flags...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(o.ramaria)+":"+os.Getenv("PATH"), "RAMARIA_BIN="+o.ramaria, "RAMARIA_INSTANCE=suites", "SAVED="+saved)
	if err := cmd.Run(); err != nil {
		return runner.Result{}, err
	}
	file, err := os.Open(saved)
	if err != nil {
		return runner.Result{}, err
	}
	defer file.Close()
	results, err := runner.ReadJSON(file)
	if err == nil && (len(results) != 1 || len(results[0].Rows) < 3) {
		err = fmt.Errorf("%s has no three rows", saved)
	}
	if err != nil {
		return runner.Result{}, err
	}
	return results[0], nil
}

// Tables of the dump beside those that the tests use, and rows in each: what is put back is not large, and not nothing.
const (
	moreTables = 20
	moreRows   = 100
)

// enlarge adds to a dump tables that no test uses, as most of a schema is to most tests.
func enlarge(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.Write(text)
	for table := range moreTables {
		fmt.Fprintf(&b, "CREATE TABLE part_%d (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40) NOT NULL, price INT NOT NULL, KEY (name));\n", table)
		fmt.Fprintf(&b, "INSERT INTO part_%d (name, price) VALUES ", table)
		for row := range moreRows {
			if row > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "('part %d of table %d', %d)", row, table, row*table)
		}
		b.WriteString(";\n")
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}

// line is a project in the table: the times of the three ways, how many times as fast as the others the last is, and how
// many tests leak in each.
func line(title string, r runner.Result) []string {
	cells := []string{title}
	var gains, leaking []string
	ours := r.Rows[2]
	for _, row := range r.Rows[:3] {
		cells = append(cells, r.Unit.Format(row.Median))
		if row.Name != ours.Name {
			gains = append(gains, strings.TrimSuffix(runner.FormatRatio(r.Unit.Ratio(row.Median, ours.Median)), "x"))
		}
		leaks := "-"
		if n, told := row.Beside["leaking tests"]; told {
			leaks = fmt.Sprint(int(n))
		}
		leaking = append(leaking, leaks)
	}
	return append(cells, strings.Join(gains, " / "), strings.Join(leaking, " / "))
}

func markdown(table [][]string) string {
	var b strings.Builder
	for i, cells := range table {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|--:", len(cells)-1) + "|\n")
		}
	}
	return b.String()
}
