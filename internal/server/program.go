package server

import (
	"bytes"
	"os"
	"strings"
)

// Program is one executable of a server, or a Tool, and what must stand before its
// own arguments: what was fetched runs through its own dynamic loader, so that it
// never uses, or touches, the libraries of the system.
type Program struct {
	// Argv is the command's beginning; Argv[0] is an absolute path.
	Argv []string `json:"argv"`
	// Env is what the program needs in its environment beside what the caller gives
	// it, as NAME=value.
	Env []string `json:"env,omitempty"`
}

// Shell is the program as the beginning of a command for POSIX shells, with its environment.
func (p Program) Shell() string {
	var words []string
	if len(p.Env) > 0 {
		words = append([]string{"env"}, p.Env...)
	}
	words = append(words, p.Argv...)
	for i, w := range words {
		words[i] = ShellQuote(w)
	}
	return strings.Join(words, " ")
}

// ShellQuote quotes a word for POSIX shells.
func ShellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// ShellWord is a word as POSIX shells take it, for commands in hints: quoted where that is needed.
func ShellWord(s string) string {
	const plain = "_-./:,=+@%0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return ShellQuote(s)
	}
	return s
}

// Path is the program's file, after the loader and the loader's options; "" for one that was not found.
func (p Program) Path() string {
	if len(p.Argv) == 0 {
		return ""
	}
	return p.Argv[len(p.Argv)-1]
}

// Knows reports whether the program has a long option: the names of all stand in its file. Which release brought one
// differs from series to series, and is not always written down.
func (p Program) Knows(option string) bool {
	text, err := os.ReadFile(p.Path())
	return err == nil && bytes.Contains(text, []byte("\x00"+option+"\x00"))
}

// DumperPosition returns the arguments by which the dumper of the server writes, in a comment, where the log goes on
// behind its dump.
func (s *Server) DumperPosition() []string {
	switch {
	case s.Flavour == MariaDB:
		return []string{"--master-data=2"}
	case s.Version.Compare(Version{8, 0, 26}) >= 0:
		return []string{"--source-data=2", "--set-gtid-purged=OFF"}
	}
	return []string{"--master-data=2", "--set-gtid-purged=OFF"}
}

// DumperAlone returns the arguments by which the dumper of the server writes nothing about its log: a dump
// that is loaded anywhere.
func (s *Server) DumperAlone() []string {
	if s.Flavour == MariaDB {
		return nil
	}
	return []string{"--set-gtid-purged=OFF"}
}

// Programs are all of its programs.
func (s *Server) Programs() []*Program {
	return []*Program{&s.Daemon, &s.Client, &s.Dumper, &s.LogReader}
}

// Missing is the first file of the program that is not there any more, "" if it can be run,
// or has never been there.
func (p Program) Missing() string {
	if len(p.Argv) == 0 {
		return ""
	}
	for _, path := range []string{p.Argv[0], p.Path()} {
		if !Executable(path) {
			return path
		}
	}
	return ""
}

// Missing is the same of all programs of a server.
func (s *Server) Missing() string {
	for _, p := range s.Programs() {
		if path := p.Missing(); path != "" {
			return path
		}
	}
	return ""
}

// Executable reports whether path is a file that may be run.
func Executable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}
