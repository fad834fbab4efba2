package scenario

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Names of the rows that conclusions refer to.
const (
	RowLoadOneRow   = "client, a row an INSERT"
	RowLoadExtended = "client, extended INSERTs"
	RowLoadPacked   = "client, packed dump"
	RowLoadOpen     = "open connection, extended INSERTs"
	RowLoad         = "ramaria load"
	RowLoadSlow     = "ramaria load, a row an INSERT"
	RowMyloader     = "myloader"
	RowLoadImage    = "ramaria up, image there"
)

const (
	loadingInstance = "loading"
	loadingDatabase = "loaded"
	// loaderThreads is how many connections myloader uses.
	loaderThreads = "2"
)

// LoadScenario measures loading a small dump in the worst shape there is, or the user's own,
// and what takes its place once an image has been built: a fresh instance that has it.
func LoadScenario(l *lab.Lab) runner.Scenario {
	if l.Options.Dump != "" {
		return ownLoadScenario(l)
	}
	files := 3*l.FreshBytes() + 128<<20 // two instances and an image, and what is loaded, in the binary log too
	d := &loading{lab: l, data: "world", write: func(w io.Writer, s fixture.Shape) error { return fixture.World{}.WriteDump(w, s) }}
	d.check = func(ctx context.Context, db *sql.DB) error { return fixture.World{}.Verify(ctx, db) }
	settings := l.Settings()
	return runner.Scenario{
		Name: "load", Conclusion: loadConclusion, Title: "load a dump into an empty database of a running instance in RAM, start of the program included, but for the open connection, which has none", Unit: runner.Seconds, Settings: settings, Beside: lab.FsyncBeside(),
		Disk: 64 << 20, Memory: 2*l.ResidentBytes() + files, Shm: l.SharedMemoryOfRAM(files),
		Cases: lab.WithStorage(l.VolumeStorage(""),
			d.row(RowLoadOneRow, fixture.OneRow, d.client),
			d.row(RowLoadExtended, fixture.Extended, d.client),
			d.packed(),
			d.row(RowLoadOpen, fixture.Extended, d.send),
			d.row(RowLoad, fixture.OneRow, d.load),
			d.myloaderCase(),
			upRow(l.Fixture(), RowLoadImage, ""),
		),
	}
}

// LargeLoadScenario measures loading five million rows.
func LargeLoadScenario(l *lab.Lab) runner.Scenario {
	shop := fixture.Shop{}
	d := &loading{lab: l, data: "shop", write: shop.WriteDump, size: "8G"}
	d.check = func(ctx context.Context, db *sql.DB) error { return d.same(ctx, db, shop.Counts()) }
	settings := l.Settings()
	settings["data"] = "shop fixture, 5 million rows in 6 tables, 330 MB with extended INSERTs"
	const files = 4 << 30 // six loads stay in the binary log
	return runner.Scenario{
		Name: "loadlarge", Rounds: 1, Conclusion: loadConclusion, Title: "load a large dump into an empty database of a running instance in RAM", Unit: runner.Seconds, Settings: settings, Beside: lab.FsyncBeside(),
		Disk: 2 << 30, Memory: files + l.ResidentBytes(), Shm: l.SharedMemoryOfRAM(files),
		Cases: lab.WithStorage(l.VolumeStorage(""),
			d.row(RowLoadExtended, fixture.Extended, d.client),
			d.row(RowLoad, fixture.Extended, d.load),
			d.row(RowLoadSlow, fixture.OneRow, d.load),
			d.myloaderCase(),
			d.row(RowLoadOneRow, fixture.OneRow, d.client),
		),
	}
}

// loading is an instance that dumps are loaded into.
type loading struct {
	lab   *lab.Lab
	data  string // the name of the data set
	write func(io.Writer, fixture.Shape) error
	check func(context.Context, *sql.DB) error
	// size is that of the volume as --volume has it, "" for the one that ramaria chooses.
	size string

	instance *instance.Instance
	config   string // an option file for client programs
	db       *sql.DB
	users    int
	first    map[string]string // checksums by table of the first load
}

func (d *loading) begin(ctx context.Context) error {
	d.users++
	if d.instance != nil {
		return nil
	}
	kind, err := d.lab.RAMKind(ctx)
	if err != nil {
		return err
	}
	if _, err := d.lab.Run(ctx, "up", loadingInstance, "--server", d.lab.ServerFlag(), "--volume", d.volume(kind)); err != nil {
		return err
	}
	if d.instance, err = d.lab.Instance(loadingInstance); err != nil {
		return err
	}
	if d.config, err = d.clientConfig(); err != nil {
		return err
	}
	d.db, err = dbconn.OpenLoading(d.instance.Endpoint.Socket, d.instance.Endpoint.Login, "")
	return err
}

// volume is what --volume has to say.
func (d *loading) volume(kind volume.Kind) string {
	if d.size == "" {
		return string(kind)
	}
	return string(kind) + ":" + d.size
}

func (d *loading) end(ctx context.Context) error {
	if d.users--; d.users > 0 || d.instance == nil {
		return nil
	}
	d.db.Close()
	d.instance = nil
	_, err := d.lab.Run(ctx, "down", loadingInstance, "--rm")
	return err
}

// dump returns the path of the dump in a shape.
func (d *loading) dump(shape fixture.Shape) (string, error) {
	return d.lab.DumpFile(d.data+"-"+shape.String(), func(w io.Writer) error { return d.write(w, shape) })
}

// row is a case that loads the dump in a shape into an empty database.
func (d *loading) row(name string, shape fixture.Shape, load func(ctx context.Context, path string) error) runner.Case {
	return d.file(name, shape.String(), func(context.Context) (string, error) { return d.dump(shape) }, load)
}

// packed is a case that has the client load what `ramaria dump pack` made of the worst shape.
func (d *loading) packed() runner.Case {
	return d.file(RowLoadPacked, "ramaria dump pack of "+fixture.OneRow.String()+", not timed", func(ctx context.Context) (string, error) {
		path, err := d.dump(fixture.OneRow)
		if err != nil {
			return "", err
		}
		packed := filepath.Join(d.lab.Dir, d.data+"-packed.sql")
		_, err = d.lab.Run(ctx, "dump", "pack", path, "-o", packed)
		return packed, err
	}, d.client)
}

// file is a case that loads a file, which is made beforehand, into an empty database.
func (d *loading) file(name, says string, dump func(context.Context) (string, error), load func(ctx context.Context, path string) error) runner.Case {
	path := ""
	return runner.Case{
		Name: name, Ours: name == RowLoad || name == RowLoadSlow, Settings: says + "; ramaria's settings",
		Prepare: func(ctx context.Context) (err error) {
			if path, err = dump(ctx); err != nil {
				return err
			}
			return d.begin(ctx)
		},
		Round: func(ctx context.Context) (runner.Sample, error) {
			if err := d.empty(ctx); err != nil {
				return runner.Sample{}, err
			}
			return runner.Timed(func(ctx context.Context) error { return load(ctx, path) })(ctx)
		},
		Check:   func(ctx context.Context) error { return d.verify(ctx) },
		Cleanup: d.end,
	}
}

func (d *loading) empty(ctx context.Context) error {
	name := dbconn.QuoteName(loadingDatabase)
	if _, err := d.db.ExecContext(ctx, "DROP DATABASE IF EXISTS "+name+"; CREATE DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"); err != nil {
		return fmt.Errorf("make an empty database: %w", err)
	}
	return nil
}

// client runs the server's own client.
func (d *loading) client(ctx context.Context, path string) error {
	return lab.ShellClient{Program: d.instance.Server.Client, Config: d.config}.File(ctx, loadingDatabase, path)
}

// ClientConfig writes an option file for client programs.
func (d *loading) clientConfig() (string, error) {
	path := filepath.Join(d.lab.Dir, "loading.cnf")
	e := d.instance.Endpoint
	e.Database = ""
	return path, server.WritePrivate(path, []byte(e.ClientConfig()), server.Account{})
}

// send sends the statements by one connection, one after the other.
func (d *loading) send(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "USE "+dbconn.QuoteName(loadingDatabase)); err != nil {
		return err
	}
	s := dump.NewScanner(bytes.NewReader(text), path)
	for {
		st, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, string(st.Text)); err != nil {
			return err
		}
	}
}

func (d *loading) load(ctx context.Context, path string) error {
	_, err := d.lab.Run(ctx, "load", loadingInstance, loadingDatabase, path)
	return err
}

// myloaderCase loads what mydumper wrote of the same data.
func (d *loading) myloaderCase() runner.Case {
	dir, config := filepath.Join(d.lab.Dir, "mydumper"), ""
	run := func(ctx context.Context, program string, args ...string) error {
		cmd := exec.CommandContext(ctx, program, append(args, "--defaults-file="+config, "--threads="+loaderThreads, "--socket="+d.instance.Endpoint.Socket)...)
		out, err := cmd.CombinedOutput()
		if err == nil && strings.Contains(string(out), "CRITICAL") {
			err = errors.New("failed in part") // its exit status does not tell
		}
		if err != nil {
			return fmt.Errorf("%s: %w: %.500s", program, err, strings.Join(strings.Fields(string(out)), " "))
		}
		return nil
	}
	load := func(ctx context.Context) error {
		return run(ctx, "myloader", "--database="+loadingDatabase, "--directory="+dir, "--enable-binlog")
	}
	return runner.Case{
		Name: RowMyloader, Settings: loaderThreads + " threads, what mydumper wrote of it; ramaria's settings",
		Prepare: func(ctx context.Context) error {
			if err := d.begin(ctx); err != nil {
				return err
			}
			for _, program := range []string{"mydumper", "myloader"} {
				if _, err := exec.LookPath(program); err != nil {
					return fmt.Errorf("%w: %w", runner.ErrUnavailable, err)
				}
			}
			path, err := d.dump(fixture.Extended)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(d.config)
			if err != nil {
				return err
			}
			// Each knows only its own group of options, and is root without.
			config = d.config + ".mydumper"
			dumping, loading := bytes.Replace(text, []byte("[client]"), []byte("[mydumper]"), 1), bytes.Replace(text, []byte("[client]"), []byte("[myloader]"), 1)
			if err := errors.Join(server.WritePrivate(config, append(dumping, loading...), server.Account{}), d.empty(ctx), d.load(ctx, path)); err != nil {
				return err
			}
			// They follow servers late: one that they cannot do is theirs, and not the others' end.
			err = run(ctx, "mydumper", "--database="+loadingDatabase, "--outputdir="+dir)
			if err == nil {
				if err := d.empty(ctx); err != nil {
					return err
				}
				err = load(ctx)
			}
			if err == nil {
				err = d.verify(ctx)
			}
			if err != nil && ctx.Err() == nil {
				err = fmt.Errorf("%w: %w", runner.ErrUnavailable, err)
			}
			return err
		},
		Round: func(ctx context.Context) (runner.Sample, error) {
			if err := d.empty(ctx); err != nil {
				return runner.Sample{}, err
			}
			return runner.Timed(load)(ctx)
		},
		Check:   func(ctx context.Context) error { return d.verify(ctx) },
		Cleanup: d.end,
	}
}

// verify checks what was loaded.
func (d *loading) verify(ctx context.Context) error {
	db, err := dbconn.Open(d.instance.Endpoint.Socket, d.instance.Endpoint.Login, loadingDatabase)
	if err != nil {
		return err
	}
	defer db.Close()
	return d.check(ctx, db)
}

// same checks the number of rows of each table, and that they are those of the first load.
func (d *loading) same(ctx context.Context, db *sql.DB, counts map[string]int) error {
	sums := map[string]string{}
	for table, want := range counts {
		var n int
		var name, sum string
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+dbconn.QuoteName(table)).Scan(&n); err != nil {
			return err
		}
		if n != want {
			return fmt.Errorf("table %s has %d rows, not %d", table, n, want)
		}
		if err := db.QueryRowContext(ctx, "CHECKSUM TABLE "+dbconn.QuoteName(table)).Scan(&name, &sum); err != nil {
			return err
		}
		sums[table] = sum
	}
	if d.first == nil {
		d.first = sums
	}
	for table, sum := range sums {
		if d.first[table] != sum {
			return fmt.Errorf("table %s is another than after the first load: checksum %s, not %s", table, sum, d.first[table])
		}
	}
	return nil
}

// loadConclusion says how much faster loading is than by the client.
func loadConclusion(r *runner.Result) string {
	m := medians(r)
	var list []string
	extended := "the client with extended INSERTs"
	if m[RowLoadSlow] > 0 { // where RowLoad has them too
		extended = "the client, both with extended INSERTs"
	}
	for _, c := range []struct{ fast, slow, than string }{
		{RowLoadSlow, RowLoadOneRow, "the client, both a row an INSERT"},
		{RowLoad, RowLoadExtended, extended},
		{RowLoad, RowMyloader, "myloader"},
		{RowLoad, RowLoadOwn, "the client"},
		{RowLoad, RowLoadPacked, "the client with the packed dump"},
		{RowLoad, RowLoadOpen, "extended INSERTs over an open connection, which starts no program"},
	} {
		if times := m[c.slow] / m[c.fast]; m[c.fast] > 0 && times > 0 {
			list = append(list, fmt.Sprintf("%.1f times as fast as %s", times, c.than))
		}
	}
	if m[RowLoadSlow] == 0 && m[RowLoad] > 0 && m[RowLoadOneRow] > 0 {
		list = append(list, fmt.Sprintf("%.1f times as fast as the client", m[RowLoadOneRow]/m[RowLoad]))
	}
	if list == nil {
		return ""
	}
	s := "ramaria load is " + strings.Join(list, "; ") + "."
	if image := m[RowLoadImage]; image > 0 {
		s += fmt.Sprintf(" A fresh server that has it, from an image, is there in %s.", runner.Seconds.Format(image))
	}
	return s
}
