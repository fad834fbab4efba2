package sort

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

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// sortPlace is a server whose temporary files lie in a place. Its data is in RAM, so that the
// place is all that sets the servers apart.
type sortPlace struct {
	lab.Place
	sorting *sorting
	where   string // "tmpdir on disk"
	name    string
	tier    tier // what temporary files lie in, if that is made for it
	scratch *lab.Scratch
	spilled float64 // most of the last round, NaN where it is not known

	begun   bool
	err     error
	ends    []func(ctx context.Context) error
	device  runner.Device // of the temporary files
	on      string        // a directory on it
	fsyncs  []float64     // there, in seconds, in the mount if there is one
	lies    string        // the file system of that
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
	if cache := o.lab.Server.Family().Stock.Temporary.Cache; cache != "" {
		set[cache] = smallCache
	}
	add := func(s lab.Place, where, says string, in tier) {
		s = s.With(set)
		s.About = says
		list = append(list, &sortPlace{Place: s, sorting: o, where: where, tier: in, name: fmt.Sprintf("sort-%d", len(list)+1)})
	}
	var same []*sortPlace
	const stock = "stock settings, data directory in shared memory, "
	for _, s := range o.lab.Places(context.Background(), lab.PlaceDisk, lab.PlaceRAMByHand, lab.PlaceRamaria) {
		switch {
		case s.Ramaria:
			add(s, s.Row, s.About+", tmpdir as it comes: on xfs a tmpfs of the server's own", tier{})
		case s.Name == lab.PlaceRelaxed || s.Name == lab.PlaceRAMRelaxed:
			// The last: the others are compared with the first, and it has no figures.
			where, as := "tmpdir on relaxed disk", lab.PlaceDisk
			if s.InRAM() {
				where, as = "tmpdir in relaxed /dev/shm", lab.PlaceRAMByHand
			}
			same = append(same, &sortPlace{Place: s, sorting: o, where: where, begun: true,
				err: lab.NotApplicableError("when commits reach the disk is nothing to temporary files: --place " + as + " is the same place")})
		case s.InRAM():
			add(s, "tmpdir in /dev/shm", stock+"and tmpdir", tier{})
		case s.Rate > 0:
			add(s, fmt.Sprintf("tmpdir on disk EMULATED %d io/s", s.Rate), stock+fmt.Sprintf("tmpdir on disk, held to %d operations a second", s.Rate), tier{})
		default:
			add(s, "tmpdir on disk", stock+"tmpdir on disk", tier{})
			for _, t := range o.tiers() {
				add(s, t.where, stock+"tmpdir in "+t.says, t)
			}
		}
	}
	return append(list, same...)
}

// prepare starts the server and puts the rows in, once.
func (p *sortPlace) prepare(ctx context.Context) error {
	if !p.begun {
		p.begun = true
		if p.err = p.begin(ctx); p.err != nil {
			// An unavailable row is not tried again, and takes no room meanwhile.
			p.err = errors.Join(p.err, p.close(context.WithoutCancel(ctx)))
		}
	}
	return p.err
}

func (p *sortPlace) begin(ctx context.Context) error {
	start := p.startStock
	if p.Ramaria {
		start = p.up
	}
	e, err := start(ctx)
	if err != nil {
		return err
	}
	if p.db, err = dbconn.Open(e.Socket, e.Login, ""); err != nil {
		return err
	}
	p.ends = append(p.ends, func(context.Context) error { return p.db.Close() })
	if p.pid, err = lab.ServerPID(ctx, p.db); err != nil {
		return err
	}
	if err := p.fill(ctx); err != nil {
		return err
	}
	if s := p.scratch; s != nil { // its data is where it was
		if err := errors.Join(s.Throttle.Add(p.pid), s.Memory.Add(p.pid)); err != nil {
			return err
		}
	}
	return p.connect(ctx)
}

// connect opens the sessions, in the place of those that there are.
func (p *sortPlace) connect(ctx context.Context) error {
	p.disconnect()
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

func (p *sortPlace) disconnect() {
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

// up starts an instance of ramaria's.
func (p *sortPlace) up(ctx context.Context) (dbconn.Endpoint, error) {
	r := p.sorting.lab.NewServer(p.Place, p.name)
	p.ends = append(p.ends, r.Close)
	err := r.Start(ctx)
	p.device, p.on, p.fsyncs, p.lies = r.Disk(), r.Data, r.Fsyncs, r.Description
	return r.Endpoint, err
}

// startStock starts a stock server in shared memory with its tmpdir in the place.
func (p *sortPlace) startStock(ctx context.Context) (e dbconn.Endpoint, err error) {
	l := p.sorting.lab
	shm, err := lab.ShmDir(l)
	if err != nil {
		return e, err
	}
	s := &lab.PlainServer{Lab: l, Dir: filepath.Join(shm, p.name), Set: p.Set}
	if s.Tmp, err = p.makeTmp(ctx); err != nil {
		return e, err
	}
	if variable := l.Server.Family().Stock.Temporary.Dir; variable != "" {
		dir := filepath.Join(s.Tmp, "innodb")
		if err := server.MakeDirs(l.Account, dir); err != nil {
			return e, err
		}
		s.Set[variable] = dir
	}
	if p.Rate > 0 {
		if s.Throttle, err = runner.NewThrottle(l.Host, s.Tmp, p.Rate); err != nil {
			return e, err
		}
	}
	p.ends = append(p.ends, func(context.Context) error { return errors.Join(s.Remove(), s.Throttle.Remove()) })
	p.lies = l.DescribeStorage(s.Tmp, p.InRAM() || p.scratch != nil)
	throttle := s.Throttle
	if p.scratch != nil {
		throttle = p.scratch.Throttle
	}
	if p.fsyncs, err = l.MeasureFsync(ctx, throttle, s.Tmp); err != nil {
		return e, err
	}
	if err := s.Initialise(ctx); err != nil {
		return e, err
	}
	return dbconn.Endpoint{Socket: s.Socket(), Login: s.Login}, s.Start(ctx)
}

// makeTmp makes a directory in the place.
func (p *sortPlace) makeTmp(ctx context.Context) (string, error) {
	l := p.sorting.lab
	parent, err := p.Parent(l)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, p.name+"-tmp")
	if !p.InRAM() {
		p.device, p.on = runner.DeviceOf(l.Host, parent), parent // below the loop device, if there is one
	}
	if p.tier.make != nil {
		if p.scratch, err = p.tier.make(ctx, dir); err != nil {
			return "", err
		}
		p.ends = append(p.ends, func(context.Context) error { return p.scratch.Close() })
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
	p.disconnect()
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
	if err := lab.CountUp(ctx, p.db, sortDatabase, o.rows); err != nil {
		return err
	}
	return lab.ExecAll(ctx, p.db,
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
	err = lab.ExecAll(ctx, conn, "USE "+sortDatabase, "SET SESSION sort_buffer_size = "+sortBuffer, "SET SESSION tmp_table_size = "+memoryTable, "SET SESSION max_heap_table_size = "+memoryTable)
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
	for name, pid := range map[string]int{lab.ServerCPU: p.pid, clientCPU: os.Getpid()} {
		took, err := lab.CPUTime(pid)
		if err != nil {
			return nil, err
		}
		c[name] = took.Seconds()
	}
	return c, nil
}
