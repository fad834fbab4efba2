package archive

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"time"
)

const (
	manifestName = "manifest.json"
	// ManifestNew is a manifest in the making.
	ManifestNew = manifestName + newSuffix
	// manifestMagic is followed by the version of the format, a space, and a checksum.
	manifestMagic   = "ramaria archive "
	manifestVersion = "1"
	// mostManifest bounds a manifest, in bytes: some hundred per base and epoch.
	mostManifest = 64 << 20
)

// ID is the name of an archive, which its segments and bases carry too.
type ID [16]byte

// NewID returns an ID that no other archive has.
func NewID() (id ID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// String returns 32 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(id)) {
		return fmt.Errorf("parse archive id %q: it has not 32 digits", text)
	}
	_, err := hex.Decode(id[:], text)
	return err
}

// Manifest says what of an archive belongs together. It is replaced as a whole: what it names lasts
// before it does, and what it does not name any more is removed after that.
type Manifest struct {
	ID ID `json:"id"`
	// Instance is the name of the instance when the archive was made.
	Instance string    `json:"instance"`
	Created  time.Time `json:"created"`
	// Server is what wrote it last: flavour:version.
	Server string `json:"server"`
	// Epochs are in order; the last one goes on. Bases are in order of their ids.
	Epochs []Epoch `json:"epochs"`
	Bases  []Base  `json:"bases"`
	// NextBase is the id of the base that is made next. Ids are not used twice.
	NextBase uint32 `json:"next_base"`
	// Verified is when all was last restored, replayed and compared with the instance, and up to where;
	// nil if never.
	Verified *Verified `json:"verified,omitempty"`
	// ReplayScale is how long it took to apply a log, as a multiple of what was expected, and RestoreRate how many bytes of
	// a base's files were restored in a second. 0 before that was measured.
	ReplayScale float64 `json:"replay_scale,omitempty"`
	RestoreRate float64 `json:"restore_rate,omitempty"`
	// Extent says that the archive has a file that says how far its log goes: ExtentName.
	Extent bool `json:"extent,omitempty"`
	// Breaches are times at which the server was set so that commits could be lost, in order.
	Breaches []Breach `json:"breaches,omitempty"`
}

// Verified is a comparison of what the archive gives with the instance itself.
type Verified struct {
	Time  time.Time `json:"time"`
	Epoch uint32    `json:"epoch"`
	At    Position  `json:"at"`
}

// Epoch is the life of one binary log, which begins with its first file. It begins where a base
// was made, or where the epoch before ended.
type Epoch struct {
	Number uint32    `json:"number"`
	Began  time.Time `json:"began"`
	// Base is the base that the epoch begins with, 0 if it goes on from the end of the epoch
	// before.
	Base uint32 `json:"base,omitempty"`
	// End is where it ended; nil while it goes on.
	End *Position `json:"end,omitempty"`
	// Total is how many bytes its log has up to there.
	Total int64 `json:"total,omitempty"`
	// Work is how many seconds it is expected to take to replay the log that the epoch goes on from, behind the base that
	// was the newest when it began (Extent.Work).
	Work float64 `json:"work,omitempty"`
	// Lost says that what its log had behind End was missing, or could not be used, and was given up.
	Lost bool `json:"lost,omitempty"`
	// GTIDState is what the state of a MariaDB server's log is at its beginning.
	GTIDState string `json:"gtid_state,omitempty"`
	// Fenced says that no commit is acknowledged that comes after a statement which the log may not repeat, before a
	// base has that.
	Fenced bool `json:"fenced,omitempty"`
}

// Base is a base backup: the files of a data directory as they are after all of the log before a
// position.
type Base struct {
	ID    uint32 `json:"id"`
	Epoch uint32 `json:"epoch"`
	// At is the end of a transaction, or zero for the beginning of the epoch.
	At Position `json:"at"`
	// Time is when the data was like that.
	Time time.Time `json:"time"`
	// Size is what its files hold, Stored what was written for it, both in bytes.
	Size   int64 `json:"size"`
	Stored int64 `json:"stored"`
	// Total is how many bytes the log of the epoch has before At.
	Total int64 `json:"total"`
	// Packs are the bases whose files it needs, its own among them; none of one that has a Dir.
	Packs []uint32 `json:"packs"`
	// Dir is a data directory outside of the archive that is the base, "" for one in the archive, and DirSum what
	// says that it has not been changed since. An instance that was adopted begins with one, so that its clients do
	// not wait for a base to be written.
	Dir    string `json:"dir,omitempty"`
	DirSum string `json:"dir_sum,omitempty"`
	// GTIDState is what the state of a MariaDB server's log is at At: it is in no file of the base.
	GTIDState string `json:"gtid_state,omitempty"`
	// Outside says what of the data is outside of the promise.
	Outside []string `json:"outside,omitempty"`
	// Fences is how many statements it has that the log before it may not repeat: without the base that log leads to
	// something else.
	Fences int `json:"fences,omitempty"`
	// BesideLog is what it has that is in no log (dbconn.BesideLog), such as plugins, which the log behind the base may
	// need.
	BesideLog []string `json:"beside_log,omitempty"`
	// Prepared are the XA transactions that are prepared in it, by their names. Settled says that these are the
	// ones that the log has prepared before At: of a base that an early Ramaria made nothing is known.
	Prepared []string `json:"prepared,omitempty"`
	Settled  bool     `json:"settled,omitempty"`
	// Ahead are statements that it has and the log before At has not: MariaDB had done them, and not logged them yet.
	// They come among the first behind At, and are not to be done again. Each is named by its binlog.StatementID.
	Ahead []string `json:"ahead,omitempty"`
}

// TakeProof takes what was found out of the base when a server ran on it: all but its files.
func (b *Base) TakeProof(from Base) {
	b.At, b.GTIDState, b.Outside, b.BesideLog = from.At, from.GTIDState, from.Outside, from.BesideLog
	b.Prepared, b.Settled, b.Ahead = from.Prepared, from.Settled, from.Ahead
}

// ErrNoArchive says that a directory holds no archive.
var ErrNoArchive = errors.New("there is no archive")

// FormatError says that an archive was written by another Ramaria, in a format that this one does not know.
type FormatError struct{ Format string }

func (e *FormatError) Error() string {
	return fmt.Sprintf("the archive has format %s, and this ramaria knows format %s\nhint: use the ramaria that wrote it, or a later one", e.Format, manifestVersion)
}

// ReadManifest reads the manifest: ErrNoArchive if there is none, a *DamagedError if it is not as
// it was written, a *FormatError if it is one of another format.
func ReadManifest(d Disk) (*Manifest, error) {
	f, err := d.Open(manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read manifest: %w", ErrNoArchive)
	}
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	text, err := readAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return ParseManifest(text)
}

// SettledManifest is ReadManifest for a writer, who acts on what it says: that lasts. The one before may have
// been killed when the manifest had its name, and before that lasted.
func SettledManifest(d Disk) (*Manifest, error) {
	if err := d.SyncDir("."); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return ReadManifest(d)
}

func readAll(f File) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > mostManifest {
		return nil, &DamagedError{File: manifestName, Reason: fmt.Sprintf("it has %d bytes", size)}
	}
	text := make([]byte, size)
	n, err := f.ReadAt(text, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text[:n], err
}

// ParseManifest reads the text of a manifest.
func ParseManifest(text []byte) (*Manifest, error) {
	damaged := func(format string, args ...any) error {
		return &DamagedError{File: manifestName, Reason: fmt.Sprintf(format, args...)}
	}
	head, body, ok := bytes.Cut(text, []byte("\n"))
	head, ours := bytes.CutPrefix(head, []byte(manifestMagic))
	format, sum, two := bytes.Cut(head, []byte(" "))
	if !ok || !ours || !two {
		return nil, damaged("it does not begin with %q", manifestMagic+manifestVersion)
	}
	if string(format) != manifestVersion {
		if _, err := strconv.ParseUint(string(format), 10, 32); err != nil {
			return nil, damaged("its format is %q", format)
		}
		return nil, &FormatError{Format: string(format)}
	}
	if want := fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)); string(sum) != want {
		return nil, damaged("its checksum is %s, and says %s", want, sum)
	}
	var m Manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, damaged("%v", err)
	}
	if err := m.check(); err != nil {
		return nil, damaged("%v", err)
	}
	return &m, nil
}

// Text is what the file holds.
func (m *Manifest) Text() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	body, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	return append(fmt.Appendf(nil, "%s%s %08x\n", manifestMagic, manifestVersion, crc32.Checksum(body, castagnoli)), body...), nil
}

// check finds what no manifest says.
func (m *Manifest) check() error {
	for i, e := range m.Epochs {
		switch last := i+1 == len(m.Epochs); {
		case i > 0 && e.Number <= m.Epochs[i-1].Number:
			return fmt.Errorf("epoch %d follows epoch %d", e.Number, m.Epochs[i-1].Number)
		case e.End == nil && !last:
			return fmt.Errorf("epoch %d has no end, and is not the last", e.Number)
		}
	}
	for i, b := range m.Bases {
		switch {
		case i > 0 && b.ID <= m.Bases[i-1].ID:
			return fmt.Errorf("base %d follows base %d", b.ID, m.Bases[i-1].ID)
		case m.epoch(b.Epoch) == nil:
			return fmt.Errorf("base %d is of epoch %d, which is not there", b.ID, b.Epoch)
		}
	}
	return nil
}

func (m *Manifest) epoch(number uint32) *Epoch {
	for i := range m.Epochs {
		if m.Epochs[i].Number == number {
			return &m.Epochs[i]
		}
	}
	return nil
}

// Write replaces the manifest. After an error either may be there, and the caller must read it again
// before it acts on it.
func (m *Manifest) Write(d Disk) error {
	text, err := m.Text()
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	if err := WriteFile(d, manifestName, text); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

// RemoveManifest ends an archive: what else is there belongs together no more.
func RemoveManifest(d Disk) error {
	for _, name := range []string{ManifestNew, manifestName} {
		if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove manifest: %w", err)
		}
	}
	return d.SyncDir(".")
}

// WriteFile replaces a file at the top of the directory by one that lasts.
func WriteFile(d Disk, name string, text []byte) error {
	f, err := d.Create(name + newSuffix)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.Rename(name+newSuffix, name); err != nil {
		return err
	}
	return d.SyncDir(".")
}

// Last is the epoch that goes on, nil if none has begun.
func (m *Manifest) Last() *Epoch {
	if len(m.Epochs) == 0 {
		return nil
	}
	return &m.Epochs[len(m.Epochs)-1]
}

// LogID says whose the log of an epoch is.
func (m *Manifest) LogID(epoch uint32) LogID { return LogID{Archive: m.ID, Epoch: epoch} }

// Begin adds an epoch, which begins with a base or, without one, goes on from end, the end of the
// epoch before, whose log has total bytes up to there. It returns its number, which is that of e if that is higher
// than what comes next.
func (m *Manifest) Begin(e Epoch, end Position, total int64) uint32 {
	e.Number = max(1, e.Number)
	if last := m.Last(); last != nil {
		e.Number = max(e.Number, last.Number+1)
		if last.End == nil {
			last.End, last.Total = &end, total
		}
	}
	m.Epochs = append(m.Epochs, e)
	return e.Number
}

// Add adds a base, and gives its id to none that is made later.
func (m *Manifest) Add(b Base) {
	m.Bases = append(m.Bases, b)
	m.NextBase = b.ID + 1
}

// Clone returns a copy that can be changed by itself.
func (m *Manifest) Clone() *Manifest {
	c := *m
	c.Epochs, c.Bases, c.Breaches = slices.Clone(m.Epochs), slices.Clone(m.Bases), slices.Clone(m.Breaches)
	return &c
}

// Part is the part of an epoch's log that is to be replayed.
type Part struct {
	Epoch Epoch
	// From is where it begins: zero for the beginning.
	From Position
}

// Newest is the base that recovery begins with, and what of the log is to be replayed onto it: the
// rest of the epoch that it was made in, and the epochs that go on from there. It is an error if no
// base leads to the end of the last epoch.
func (m *Manifest) Newest() (Base, []Part, error) {
	for i := len(m.Bases) - 1; i >= 0; i-- {
		parts := m.From(m.Bases[i])
		if n := len(parts); n > 0 && parts[n-1].Epoch.Number == m.Last().Number {
			return m.Bases[i], parts, nil
		}
	}
	return Base{}, nil, &DamagedError{File: manifestName, Reason: "it names no base that the last epoch goes on from"}
}

// Since is how many bytes of the log come after a base, if the last epoch, which goes on, has total.
// It is -1 if the base does not lead there.
func (m *Manifest) Since(b Base, total int64) int64 {
	parts := m.From(b)
	if n := len(parts); n == 0 || parts[n-1].Epoch.Number != m.Last().Number {
		return -1
	}
	n := -b.Total
	for _, p := range parts {
		if p.Epoch.End == nil {
			n += total
		} else {
			n += p.Epoch.Total
		}
	}
	return n
}

// From is what goes on from a base without a break: the rest of its epoch's log, and those of epochs behind
// it up to one that begins with other data.
func (m *Manifest) From(b Base) (parts []Part) {
	for _, e := range m.Epochs {
		switch {
		case e.Number == b.Epoch:
			parts = append(parts, Part{Epoch: e, From: b.At})
		case e.Number > b.Epoch && e.Base == 0:
			parts = append(parts, Part{Epoch: e})
		case e.Number > b.Epoch: // it begins with other data
			return parts
		}
	}
	return parts
}
