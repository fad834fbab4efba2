package backups

import (
	"context"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dumpdir"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/server"
)

// headSize is how much of a dump is read to know who made it, in bytes.
const headSize = 8 << 10

// nameless is the database of a dump that says of none: its file may have another name each day.
const nameless = "dump"

// lookAtFile reads what a file says of itself.
func (b *Backup) lookAtFile(ctx context.Context) error {
	if ok, err := b.lookAtStream(ctx); ok || err != nil {
		return err
	}
	b.Kind = Dump
	head, err := headOf(b.Path)
	b.readHead(head)
	b.Database = dumpedDatabase(head)
	return err
}

// headOf is the beginning of a dump.
func headOf(path string) (string, error) {
	f, err := dumpfile.Open(path)
	if err != nil {
		return "", err
	}
	head := make([]byte, headSize)
	// A fault is found again when it is loaded.
	n, _ := io.ReadFull(f, head)
	return string(head[:n]), f.Close()
}

// lookAtDumps reads what a directory of dumps says of itself: one by a program that writes directories says it for all;
// else the first file that names a server does.
func (b *Backup) lookAtDumps() error {
	d, err := dumpdir.Open(b.Path, io.Discard)
	if err != nil {
		return nil //nolint:nilerr // loading it says what is wrong, with the file
	}
	if d != nil {
		b.Made = versionMaker(d.Server)
		b.Changed, b.ChangedBy = d.Finished, "the end of the dump, by "+d.Maker
		return d.Close()
	}
	files, err := dumpfile.Dir(b.Path)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	const most = 10 // more would say no more
	for _, f := range files[:min(most, len(files))] {
		if head, err := headOf(f); err == nil && b.Made.Flavour == "" {
			b.readHead(head)
		}
	}
	return nil
}

// headLines are what dump programs write first: "-- Server version\t10.11.6-MariaDB", "-- Host: db1    Database: shop",
// and above them "-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB, for ...".
var (
	versionLine  = regexp.MustCompile(`(?m)^-- Server version[\t ]+(\S+)`)
	databaseLine = regexp.MustCompile(`(?m)^-- Host: .*?\s+Database: (\S+)\s*$`)
	programLine  = regexp.MustCompile(`(?m)^-- \w+ dump .*Distrib ([^ ,]+)`)
)

// readHead takes what the head of a dump says of the server.
func (b *Backup) readHead(head string) {
	if m := versionLine.FindStringSubmatch(head); m != nil {
		b.Made = versionMaker(m[1])
	}
	if m := programLine.FindStringSubmatch(head); m != nil {
		b.likely = versionMaker(m[1]).Flavour
	}
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

// CompletedAt is when a dump with that end was completed; zero if the end does not say so.
func CompletedAt(end []byte) time.Time {
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
