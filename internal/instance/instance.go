// Package instance knows the instances of one user: their names, their
// directories, and what the files in those tell of them. It starts no server;
// package supervisor does.
//
// Each file has one writer. The record in the state directory is what was asked
// for, written by the command that made the instance; it outlives a reboot, which
// empties the volume, and holds no secret. instance.json in the volume is what was
// made of it. state.json beside it is the supervisor's alone, and to be believed
// about a running server only while the supervisor holds the lock.
package instance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/fit"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Format is the version of a record and of the files in its instance's directory.
const Format = 1

// Spec is what was asked for: the flags of `ramaria up`, normalised.
type Spec struct {
	Server string         `json:"server,omitempty"`
	From   []image.Source `json:"from,omitempty"`
	Key    string         `json:"key,omitempty"`
	// AllowEmpty takes dumps without a statement.
	AllowEmpty bool `json:"allow_empty,omitempty"`
	// Fit is what of dumps is mapped.
	Fit      fit.Options `json:"fit,omitzero"`
	Database string      `json:"database,omitempty"`
	User     string      `json:"user,omitempty"`
	// PasswordFile is where the password was read from; records hold no secrets.
	PasswordFile string `json:"password_file,omitempty"`
	Port         int    `json:"port,omitempty"`
	// Socket is the path of the server's Unix socket, "" for one in the instance's directory.
	Socket string `json:"socket,omitempty"`
	// Front is the TCP port on 127.0.0.1 of a door that leases clones by the names of databases; 0 for none.
	Front int `json:"front,omitempty"`
	// APIListen is the ADDRESS:PORT of the API for clients on other machines, "" for none.
	APIListen string `json:"api_listen,omitempty"`
	Volume    string `json:"volume,omitempty"`
	// TmpDir is a directory, or as Wheat reads it, or "".
	TmpDir string            `json:"tmpdir,omitempty"`
	Set    map[string]string `json:"set,omitempty"`
	// Log is LogOff for a server without a binary log, "" for one with it.
	Log string `json:"log,omitempty"`
	// Confine is ConfineOff, or "" for a server that reaches its own files only.
	Confine string `json:"confine,omitempty"`
	// Durable is DurableCommit, or the time that may be lost ("1s"), or "" for an instance that is
	// not durable. The rest is about durable instances: where their archive is, a directory, if it is not the
	// usual one, and then the URLs of buckets that have copies of it; in how much time they are to be recovered,
	// and how long what they were is kept.
	Durable       string   `json:"durable,omitempty"`
	Archive       []string `json:"archive,omitempty"`
	RecoverWithin string   `json:"recover_within,omitempty"`
	History       string   `json:"history,omitempty"`
	// WhenFull is what is done when the volume is nearly full: WhenFullStop, WhenFullMove, or "" for making the server
	// read-only.
	WhenFull string `json:"when_full,omitempty"`
	// DeviceAtomic is server.AtomicAuto or AtomicOn, or "" for a server that keeps its doublewrite buffer.
	DeviceAtomic string `json:"device_atomic,omitempty"`
	// Replica says what the instance follows; nil for one that follows nothing.
	Replica *Replica `json:"replica,omitempty"`
	// Cluster is the name of the cluster that the instance is a member of, "" for none.
	Cluster string `json:"cluster,omitempty"`
	// Restored says what of an archive the instance was made of; nil if it was made otherwise.
	Restored *Restored `json:"restored,omitempty"`
}

// Restored is a state that an archive has.
type Restored struct {
	// Archive is the archive's directory, and At a position: EPOCH:FILE:OFFSET.
	Archive string `json:"archive"`
	At      string `json:"at"`
}

// ArchiveDir is the directory of the archive, "" for the usual one.
func (s Spec) ArchiveDir() string {
	if len(s.Archive) == 0 || IsBucket(s.Archive[0]) {
		return ""
	}
	return s.Archive[0]
}

// Buckets are the URLs of the buckets that have copies of the archive.
func (s Spec) Buckets() []string {
	if s.ArchiveDir() == "" {
		return s.Archive
	}
	return s.Archive[1:]
}

const (
	bucketScheme = "s3:"
	// NoBuckets stands for no bucket, where there were some.
	NoBuckets = "s3:off"
)

// IsBucket reports whether the place of an archive is a bucket, and no directory.
func IsBucket(where string) bool { return strings.HasPrefix(where, bucketScheme) }

// Values of --durable; a time is another.
const (
	// DurableCommit is the one by which no acknowledged commit is lost.
	DurableCommit = "commit"
	// DurableOff ends the archiving of an instance. A Spec has "" for it.
	DurableOff = "off"
)

// FormatTime writes a time as people give it: 1h, and not 1h0m0s.
func FormatTime(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	if hours, ok := strings.CutSuffix(text, "h"); ok && d > 48*time.Hour && d%(24*time.Hour) == 0 {
		n, _ := strconv.Atoi(hours)
		text = strconv.Itoa(n/24) + "d"
	}
	return text
}

// FormatTimeText is FormatTime of what a Spec has: a time, or another word.
func FormatTimeText(text string) string {
	if d, err := time.ParseDuration(text); err == nil {
		return FormatTime(d)
	}
	return text
}

// Durability is the level of what a power failure may take, and how long commits may wait to be
// archived.
func (s Spec) Durability() (server.Durability, time.Duration) {
	switch d, err := time.ParseDuration(s.Durable); {
	case s.Durable == "":
		return server.InRAM, 0
	case err == nil && d > 0:
		return server.Delayed, d
	}
	return server.Acknowledged, 0
}

// Durable says which state of its archive the data of an instance is.
type Durable struct {
	// Archive is the archive's id, and Epoch the life of the binary log that the data belongs to.
	Archive string `json:"archive"`
	Epoch   uint32 `json:"epoch"`
	// Boot is the id of the machine's start in which its server ran last, "" if it never ran.
	Boot string `json:"boot,omitempty"`
}

// Values of --when-full. A Spec has "" for the first.
const (
	WhenFullReadOnly = "read-only"
	WhenFullStop     = "stop"
	WhenFullMove     = "move"
)

// Values of --log.
const (
	LogOn  = "on"
	LogOff = "off"
)

// LogUse is LogOn or LogOff.
func (s Spec) LogUse() string { return cmp.Or(s.Log, LogOn) }

// Values of --confine.
const (
	ConfineOn  = "on"
	ConfineOff = "off"
)

// Unconfined reports whether the server reaches whatever its account may.
func (s Spec) Unconfined() bool { return s.Confine == ConfineOff }

// Record is what the state directory says of an instance.
type Record struct {
	Format int    `json:"format"`
	Name   string `json:"name"`
	Spec   Spec   `json:"spec"`
	// Volume is the kind of volume that was chosen, and Dir the instance's
	// directory in it.
	Volume string `json:"volume"`
	Dir    string `json:"dir"`
	// RunDir is where its sockets are.
	RunDir string `json:"run_dir"`
	// Front is the directory with its sockets and the option file for clients, "" for Dir: they stay where they were
	// when it was moved to another volume.
	Front string `json:"front,omitempty"`
	// Tmp is the directory made for it below --tmpdir, "" for one in the volume.
	Tmp string `json:"tmp,omitempty"`
	// Archived says which archive is the instance's, and the epoch that it was made in or recovered to; nil
	// for one that has none, or none yet.
	Archived *Durable `json:"archived,omitempty"`
	// Passing instances belong to a `ramaria run` and go with it.
	Passing bool      `json:"passing,omitempty"`
	Created time.Time `json:"created"`
	// Strayed says that the record was made for another place than Dir, in a home that
	// was copied to this one or moved here.
	Strayed bool `json:"-"`
}

// Made is what instance.json says: what the instance was made of.
type Made struct {
	// Image is the image that it is a clone of, "" for a branch.
	Image    string         `json:"image,omitempty"`
	Origin   string         `json:"origin"`
	Server   *server.Server `json:"server"`
	PageSize int            `json:"page_size,omitempty"`
	Account  server.Account `json:"account"`
	// Durable says what of an archive the data is; nil for an instance that is not durable.
	Durable *Durable `json:"durable,omitempty"`
	Replication
	// Joins says how a member's server is to start: JoinsBegin, JoinsApart, or "" for one that joins the others.
	Joins string `json:"joins,omitempty"`
	// ServerID is the server's number in binary logs, another one in each instance.
	ServerID uint32 `json:"server_id"`
	// Supervisor is the account of Ramaria itself.
	Supervisor dbconn.Login `json:"supervisor"`
	// Endpoint is for applications. Another port is chosen at a start when it is
	// taken and was not asked for.
	Endpoint dbconn.Endpoint `json:"endpoint"`
	// PasswordChanged says that a statement gave the application's account another password than Endpoint has, which
	// the next start puts back.
	PasswordChanged bool `json:"password_changed,omitempty"`
}

// Instance is one instance as its files have it.
type Instance struct {
	Record
	Made
}

// DataDir is the server's data directory.
func (r *Record) DataDir() string { return filepath.Join(r.Dir, "data") }

// FilesDir is where LOAD DATA INFILE and INTO OUTFILE reach.
func (r *Record) FilesDir() string { return filepath.Join(r.Dir, "files") }

// LogPath is the server's log of the present or last run.
func (r *Record) LogPath() string { return filepath.Join(r.Dir, "server.log") }

// OldLogPath is the server's log of the run before that, or what that run has written that was
// put aside since it is much.
func (r *Record) OldLogPath() string { return r.LogPath() + ".old" }

// LockPath is the file whose lock the supervisor holds.
func (r *Record) LockPath() string { return filepath.Join(r.Dir, lockName) }

const lockName = "lock"

func (r *Record) tmpDir() string   { return filepath.Join(r.Dir, "tmp") }
func (r *Record) madePath() string { return filepath.Join(r.Dir, "instance.json") }

// BucketsPath is where the supervisor says how far its buckets are behind.
func (r *Record) BucketsPath() string { return filepath.Join(r.Dir, "buckets.json") }

// RoomPath is where the supervisor says how full the volume is.
func (r *Record) RoomPath() string { return filepath.Join(r.Dir, "room.json") }

// Room returns what the supervisor said last, nil if it said nothing yet.
func (r *Record) Room() (*client.Room, error) {
	var told client.Room
	err := ReadJSON(r.RoomPath(), &told)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged) { // it is written again in some seconds
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &told, nil
}

// FencesPath is where the supervisor of a durable instance says which statements wait for a base backup.
func (r *Record) FencesPath() string { return filepath.Join(r.Dir, "fences.json") }

// SupervisorLog is where a detached supervisor says what goes wrong.
func (r *Record) SupervisorLog() string { return filepath.Join(r.Dir, "supervisor.log") }

// ClientDir is the MYSQL_HOME of client programs: their option file, which has a password.
func (r *Record) ClientDir() string { return filepath.Join(r.front(), clientName) }

// front is the directory that clients know.
func (r *Record) front() string { return cmp.Or(r.Front, r.Dir) }

// Socket is the server's Unix socket.
func (r *Record) Socket() string { return cmp.Or(r.Spec.Socket, server.SocketPath(r.RunDir)) }

// APISocket is the socket of the instance's HTTP API, in a directory that only the
// caller, and not the server's account, can change.
func (r *Record) APISocket() string {
	dir, _ := r.APIDir()
	return filepath.Join(dir, apiName)
}

// APIDir is the directory of the API's socket. Where the instance's own path is too
// long for one, it is a directory of its own elsewhere.
func (r *Record) APIDir() (dir string, own bool) {
	if filepath.Dir(r.RunDir) == r.front() {
		return r.front(), false
	}
	return r.RunDir + "-api", true
}

// TmpDir is the server's tmpdir.
func (r *Record) TmpDir() string {
	if r.Tmp != "" {
		return r.Tmp
	}
	return r.tmpDir()
}

// readMade reads instance.json.
func (r *Record) readMade() (*Made, error) {
	var m Made
	if err := ReadJSON(r.madePath(), &m); err != nil {
		return nil, err
	}
	return &m, nil
}

// Save writes instance.json.
func (i *Instance) Save() error { return WriteJSON(i.madePath(), i.Made) }

// errDamaged says that a file is not what WriteJSON writes: empty after a power
// failure, or edited.
var errDamaged = errors.New("it is damaged")

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read instance: %w", err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w: %w", path, errDamaged, err)
	}
	return nil
}

// tmpPrefix begins the name that a file has while it is written.
const tmpPrefix = ".tmp-"

// WriteJSON replaces the file at path whole: readers see the old or the new one.
func WriteJSON(path string, v any) error { return replaceJSON(path, v, false) }

// WriteDurableJSON is WriteJSON for a file that must outlive a power failure.
func WriteDurableJSON(path string, v any) error {
	if err := replaceJSON(path, v, true); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replaceJSON(path string, v any, durable bool) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), tmpPrefix+filepath.Base(path)+"-") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = tmp.Write(append(b, '\n'))
	if durable {
		err = errors.Join(err, tmp.Sync())
	}
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
