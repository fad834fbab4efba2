package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// ErrNoBackup says that there is no backup where one was to be verified.
var ErrNoBackup = errors.New("there is no such backup")

// Kinds of backups, as reports have them.
const (
	kindDump    = "dump"
	kindDumps   = "directory of dumps"
	kindDataDir = "data directory"
)

// What says when a backup last changed, as reports have it.
const (
	byDumper = "the dump's last line"
	byFiles  = "the newest of its data files"
	byFile   = "the time of the file"
)

// backup is what is verified, as far as it says so itself.
type backup struct {
	path string
	kind string
	// made is the server that the backup is of; its Flavour is "" if that is not told.
	made server.Maker
	// database is where a dump goes that names no database.
	database string
	// changed is when what it holds last changed, at the latest, and changedBy what says so; zero if nothing does.
	// modified is when its file was written.
	changed   time.Time
	changedBy string
	modified  time.Time
	// physical is nil but for physical backups, and stream but for those in one file.
	physical *physical
	stream   *stream
}

// findBackup finds out which backup is meant.
func (e *Engine) findBackup(name string, b *backup) error {
	if b.path = name; name == Stdin {
		b.kind = kindDump
		return nil
	}
	if instance.IsBucket(name) {
		b.kind = kindArchive
		return nil
	}
	fi, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) && e.leftArchive(name) {
		b.kind = kindArchive
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("verify %s: %w\nhint: it is a dump, a directory, - for stdin, s3://BUCKET/PREFIX, or the name of a durable instance", name, ErrNoBackup)
	}
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if b.path, err = filepath.Abs(name); err != nil {
		return fmt.Errorf("verify %s: %w", name, err)
	}
	b.modified = fi.ModTime()
	switch {
	case !fi.IsDir():
		b.kind = kindDump
	case fi.IsDir() && durable.Exists(b.path):
		b.kind = kindArchive
	case isPhysical(b.path):
		b.kind = kindMariaBackup
	case server.LooksLikeDataDir(b.path):
		b.kind = kindDataDir
	default:
		b.kind = kindDumps
	}
	return nil
}

// look reads what a backup says of itself.
func (b *backup) look(ctx context.Context) error {
	switch b.kind {
	case kindDump:
		if ok, err := b.lookAtStream(ctx); ok || err != nil {
			return err
		}
		return b.lookAtDump()
	case kindMariaBackup:
		return b.lookAtPhysical()
	case kindDataDir:
		b.made = server.MakerOf(b.path)
		b.changed, b.changedBy = newestOf(b.path), byFiles
	}
	return nil
}

// headSize is how much of a dump is read to know who made it, in bytes.
const headSize = 8 << 10

// nameless is the database of a dump that says of none: its file may have another name each day.
const nameless = "dump"

// lookAtDump reads the beginning of a dump.
func (b *backup) lookAtDump() error {
	f, err := dumpfile.Open(b.path)
	if err != nil {
		return err
	}
	head := make([]byte, headSize)
	// A fault is found again when it is loaded.
	n, _ := io.ReadFull(f, head)
	b.made = dumpMaker(string(head[:n]))
	b.database = dumpedDatabase(string(head[:n]))
	return f.Close()
}

// headLines are what dump programs write first: "-- Server version\t10.11.6-MariaDB", "-- Host: db1    Database: shop".
var (
	versionLine  = regexp.MustCompile(`(?m)^-- Server version[\t ]+(\S+)`)
	databaseLine = regexp.MustCompile(`(?m)^-- Host: .*?\s+Database: (\S+)\s*$`)
)

// dumpMaker is the server that the head of a dump names.
func dumpMaker(head string) server.Maker {
	if m := versionLine.FindStringSubmatch(head); m != nil {
		return versionMaker(m[1])
	}
	return server.Maker{}
}

// versionMaker is the server whose version is so written, as 10.11.6-MariaDB.
func versionMaker(text string) server.Maker {
	v, err := server.ParseVersion(text)
	if err != nil {
		return server.Maker{}
	}
	for _, f := range server.Families { // the one whose mark fits all comes last
		if strings.Contains(text, f.VersionMark) {
			return server.Maker{Flavour: f.Flavour, Version: v, Text: f.Name + " " + v.String()}
		}
	}
	return server.Maker{}
}

// dumpedDatabase is the database that the head of a dump names, where the dump itself may name none.
func dumpedDatabase(head string) string {
	if m := databaseLine.FindStringSubmatch(head); len(m) > 0 && dbconn.UnfitName(m[1]) == "" {
		return m[1]
	}
	return nameless
}

// completedLine is the last line of a dump; its time is local, of the machine that wrote it.
var completedLine = regexp.MustCompile(`-- Dump completed on (\d{4}-\d\d-\d\d +\d\d?:\d\d:\d\d)`)

// completedAt is when a dump with that end was completed; zero if the end does not say so.
func completedAt(end []byte) time.Time {
	m := completedLine.FindSubmatch(end)
	if m == nil {
		return time.Time{}
	}
	at, err := time.ParseInLocation("2006-01-02 15:04:05", strings.Join(strings.Fields(string(m[1])), " "), time.Local)
	if err != nil {
		return time.Time{}
	}
	return at
}

// newestOf is when the newest file of a data directory was written.
func newestOf(dir string) (newest time.Time) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // copying it says what is wrong
		}
		if fi, err := d.Info(); err == nil && fi.ModTime().After(newest) {
			newest = fi.ModTime()
		}
		return nil
	})
	return newest
}
