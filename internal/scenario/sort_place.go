package scenario

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
)

// sortPlace is a server whose temporary files lie in a place. Its data is in RAM, so that the
// place is all that sets the servers apart.
type sortPlace struct {
	place
	sorting *sorting
	where   string // "tmpdir on disk"
	name    string
	synced  bool

	begun   bool
	err     error
	ends    []func(ctx context.Context) error
	device  bench.Device // of the temporary files
	on      string       // a directory on it
	fsyncs  []float64    // there, in seconds, in the mount if there is one
	lies    string       // the file system of that
	db      *sql.DB
	conns   []*sql.Conn
	pid     int
	answers []answer // of the last round, one a connection
	moved   map[string]float64
}

// newPlaces are the places that were asked for.
func (o *sorting) newPlaces() []*sortPlace {
	var list []*sortPlace
	set := map[string]string{"innodb_buffer_pool_size": smallPool}
	if o.lab.Server.Flavour == server.MariaDB {
		set["aria_pagecache_buffer_size"] = smallCache
	}
	add := func(s place, where, says string, synced bool) {
		s = s.with(set)
		s.says = says
		list = append(list, &sortPlace{place: s, sorting: o, where: where, synced: synced, name: fmt.Sprintf("sort-%d", len(list)+1)})
	}
	var same *sortPlace
	const stock = "stock settings, data directory in shared memory, "
	for _, s := range o.lab.chosen(context.Background(), placeDisk, placeRAMByHand, PlaceRamaria) {
		switch {
		case s.ramaria:
			add(s, s.row, s.says+", tmpdir as it comes: on xfs a tmpfs of the server's own", false)
		case s.inRAM():
			add(s, "tmpdir in /dev/shm", stock+"and tmpdir", false)
		case s.rate > 0:
			add(s, fmt.Sprintf("tmpdir on disk EMULATED %d io/s", s.rate), stock+fmt.Sprintf("tmpdir on disk, held to %d operations a second", s.rate), false)
		case s.name == placeRelaxed:
			// The last: the others are compared with the first, and it has no figures.
			same = &sortPlace{place: s, sorting: o, where: "tmpdir on relaxed disk", begun: true,
				err: leftOutError("when commits reach the disk is nothing to temporary files: --place disk is the same place")}
		default:
			add(s, "tmpdir on disk", stock+"tmpdir on disk", false)
			add(s, "tmpdir on disk, mounted sync", stock+"tmpdir in an XFS in a file on disk, by a loop device, mounted with -o sync", true)
		}
	}
	if same != nil {
		list = append(list, same)
	}
	return list
}

// prepare starts the server and puts the rows in, once.
func (p *sortPlace) prepare(ctx context.Context) error {
	if !p.begun {
		p.begun = true
		if p.err = p.begin(ctx); p.err != nil {
			// What is unavailable is not asked again, and takes no room meanwhile.
			p.err = errors.Join(p.err, p.close(context.WithoutCancel(ctx)))
		}
	}
	return p.err
}

func (p *sortPlace) begin(ctx context.Context) error {
	start := p.startStock
	if p.ramaria {
		start = p.up
	}
	e, err := start(ctx)
	if err != nil {
		return err
	}
	if p.db, err = server.Open(e.Socket, e.Login, ""); err != nil {
		return err
	}
	p.ends = append(p.ends, func(context.Context) error { return p.db.Close() })
	if p.pid, err = serverPID(ctx, p.db); err != nil {
		return err
	}
	if err := p.fill(ctx); err != nil {
		return err
	}
	for range sortThreads {
		conn, err := p.session(ctx)
		if err != nil {
			return err
		}
		p.conns = append(p.conns, conn)
	}
	p.answers = make([]answer, len(p.conns))
	return nil
}

// up starts an instance of ramaria's.
func (p *sortPlace) up(ctx context.Context) (server.Endpoint, error) {
	r := p.sorting.lab.running(p.place, p.name)
	p.ends = append(p.ends, r.close)
	err := r.begin(ctx)
	p.device, p.on, p.fsyncs, p.lies = r.disk(), r.data, r.fsyncs, r.lies
	return r.endpoint, err
}

// startStock starts a stock server in shared memory with its tmpdir in the place.
func (p *sortPlace) startStock(ctx context.Context) (e server.Endpoint, err error) {
	l := p.sorting.lab
	shm, err := inShm(l)
	if err != nil {
		return e, err
	}
	s := &plainServer{lab: l, dir: filepath.Join(shm, p.name), set: p.set}
	if s.tmp, err = p.makeTmp(ctx); err != nil {
		return e, err
	}
	if l.Server.Flavour == server.MySQL {
		// Its temporary tables are not in tmpdir:
		// https://dev.mysql.com/doc/refman/en/innodb-temporary-tablespace.html
		dir := filepath.Join(s.tmp, "innodb")
		if err := server.MakeDirs(l.Account, dir); err != nil {
			return e, err
		}
		s.set["innodb_temp_tablespaces_dir"] = dir
	}
	if p.rate > 0 {
		if s.throttle, err = bench.NewThrottle(l.Host, s.tmp, p.rate); err != nil {
			return e, err
		}
	}
	p.ends = append(p.ends, func(context.Context) error { return errors.Join(s.remove(), s.throttle.Remove()) })
	p.lies = l.medium(s.tmp, p.inRAM())
	if p.fsyncs, err = l.fsyncUnder(ctx, s.throttle, s.tmp); err != nil {
		return e, err
	}
	if err := s.initialise(ctx); err != nil {
		return e, err
	}
	return server.Endpoint{Socket: s.socket(), Login: s.login}, s.start(ctx)
}

// makeTmp makes a directory in the place.
func (p *sortPlace) makeTmp(ctx context.Context) (string, error) {
	l := p.sorting.lab
	parent, err := p.parent(l)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, p.name+"-tmp")
	if !p.inRAM() {
		p.device, p.on = bench.DeviceOf(l.Host, parent), parent // below the loop device, if there is one
	}
	if p.synced {
		m, err := l.mountSynced(ctx, dir, p.sorting.imageBytes())
		if err != nil {
			return "", err
		}
		p.ends = append(p.ends, func(context.Context) error { return m.remove() })
		dir = filepath.Join(dir, "tmp")
	} else {
		p.ends = append(p.ends, func(context.Context) error { return os.RemoveAll(dir) })
	}
	return dir, server.MakeDirs(l.Account, dir)
}

// imageBytes is the size of the file system that is mounted for it.
func (o *sorting) imageBytes() int64 { return 512<<20 + 2*o.temporaryBytes() }

// close ends the server and removes what it had, the last first. It may be called more than
// once.
func (p *sortPlace) close(ctx context.Context) error {
	var errs []error
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
	for len(p.ends) > 0 {
		last := len(p.ends) - 1
		errs = append(errs, p.ends[last](ctx))
		p.ends = p.ends[:last]
	}
	return errors.Join(errs...)
}

const sortDatabase = "sorting"

// fill makes the table, whose texts are told by the numbers of the rows, and sums up what is
// in it, without asking the server.
func (p *sortPlace) fill(ctx context.Context) error {
	o := p.sorting
	if o.sums == nil {
		o.sums = make([]uint64, o.rows+1)
		for id := 1; id <= o.rows; id++ {
			o.sums[id] = o.sums[id-1] + uint64(crc32.ChecksumIEEE(textOf(id)))
		}
	}
	if err := countUp(ctx, p.db, sortDatabase, o.rows); err != nil {
		return err
	}
	return execAll(ctx, p.db,
		fmt.Sprintf("CREATE TABLE %s.story (id INT PRIMARY KEY, t VARCHAR(%d) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL) ENGINE=InnoDB", sortDatabase, textBytes),
		fmt.Sprintf("INSERT INTO %[1]s.story SELECT id, CONCAT(SHA2(id, 512), SHA2(id, 256)) FROM %[1]s.numbers", sortDatabase),
	)
}

// textOf is the text of a row.
func textOf(id int) []byte {
	number := strconv.AppendInt(nil, int64(id), 10)
	long, short := sha512.Sum512(number), sha256.Sum256(number)
	return hex.AppendEncode(hex.AppendEncode(nil, long[:]), short[:])
}

// session is a connection with the settings that send its work to files.
func (p *sortPlace) session(ctx context.Context) (*sql.Conn, error) {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	err = execAll(ctx, conn, "USE "+sortDatabase, "SET SESSION sort_buffer_size = "+sortBuffer, "SET SESSION tmp_table_size = "+memoryTable, "SET SESSION max_heap_table_size = "+memoryTable)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// ask reads all rows of an answer.
func ask(ctx context.Context, conn *sql.Conn, query string) (a answer, err error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return a, err
	}
	defer rows.Close()
	var text sql.RawBytes
	var n int
	var last []byte
	for rows.Next() {
		if err := rows.Scan(&text, &n); err != nil {
			return a, err
		}
		a.rows++
		a.counted += n
		a.sum += uint64(crc32.ChecksumIEEE(text))
		a.unsorted = a.unsorted || bytes.Compare(last, text) > 0
		last = append(last[:0], text...)
	}
	return a, rows.Err()
}

// clientCPU is the processor time of this process.
const clientCPU = "client CPU"

// counters are those of the server, and processor times in seconds.
func (p *sortPlace) counters(ctx context.Context) (map[string]float64, error) {
	c := map[string]float64{}
	for _, name := range []string{sortMerges, diskTables} {
		var same string
		var n float64
		if err := p.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&same, &n); err != nil {
			return nil, fmt.Errorf("read counter %s: %w", name, err)
		}
		c[name] = n
	}
	for name, pid := range map[string]int{serverCPU: p.pid, clientCPU: os.Getpid()} {
		took, err := cpuTime(pid)
		if err != nil {
			return nil, err
		}
		c[name] = took.Seconds()
	}
	return c, nil
}
