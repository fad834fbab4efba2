// Suites measures the projects in docs/examples, each in all the ways that its bench.sh has, and prints a table:
// the usual way on disk, loaded again in RAM, Ramaria, and the tests that leak. Results stay in a directory.
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
	"io"
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
	err := o.run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

// run measures the projects, and prints the lines that there are, also where one of them fails.
func (o options) run(ctx context.Context, stdout io.Writer) (err error) {
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
	var failed []error
	for _, p := range examples.Projects {
		if p.Plain == "" || len(o.only) > 0 && !slices.Contains(o.only, p.Name) {
			continue
		}
		if ctx.Err() != nil {
			failed = append(failed, context.Cause(ctx))
			break
		}
		result, err := o.measure(ctx, tmp, p)
		if err != nil {
			failed = append(failed, fmt.Errorf("measure %s: %w", p.Name, err))
			continue
		}
		table = append(table, line(p.Title, result))
	}
	_, err = io.WriteString(stdout, markdown(table))
	return errors.Join(append(failed, err)...)
}

// measure copies a project, makes it ready as its page says, and runs its bench.sh.
func (o options) measure(ctx context.Context, tmp string, p examples.Project) (runner.Result, error) {
	text, err := os.ReadFile(filepath.Join(o.clone, "docs", p.Page))
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
	if p.Page == examples.Helpers {
		if err := o.warm(ctx, dir, examples.Commands(string(text), p.Section)); err != nil {
			return runner.Result{}, err
		}
	}
	saved := filepath.Join(o.out, p.Name+".json")
	if err := o.shell(ctx, dir, `sh bench.sh --save "$0" "$@"`, append([]string{saved}, o.flags...)...); err != nil {
		return runner.Result{}, err
	}
	return read(saved)
}

// warm runs the tests of a project once, on a server that is not measured and that goes then: what they compile and fetch
// is there.
func (o options) warm(ctx context.Context, dir string, commands []string) error {
	err := o.shell(ctx, dir, strings.ReplaceAll(strings.Join(commands, "\n"), "CLONE", o.clone))
	down := o.shell(context.WithoutCancel(ctx), dir, "ramaria down "+instance+" --rm")
	if err != nil {
		return err // there may be no server then
	}
	return down
}

// instance has the tests that warm up.
const instance = "suites"

// shell runs a script in a project, with ramaria on its PATH; what it says goes to stderr.
func (o options) shell(ctx context.Context, dir, script string, args ...string) error {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-ec", script}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(o.ramaria)+":"+os.Getenv("PATH"), "RAMARIA_BIN="+o.ramaria, "RAMARIA_INSTANCE="+instance)
	return cmd.Run()
}

// read reads the result of a project, which has a row for each of three ways.
func read(path string) (runner.Result, error) {
	file, err := os.Open(path)
	if err != nil {
		return runner.Result{}, err
	}
	defer file.Close()
	results, err := runner.ReadJSON(file)
	if err == nil && (len(results) != 1 || len(results[0].Rows) < 3) {
		err = fmt.Errorf("%s has no three rows", path)
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
