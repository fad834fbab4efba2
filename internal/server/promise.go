package server

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Promise is a global variable, and the value by which an instance keeps its promise.
type Promise struct{ Name, Value string }

// Broken is a promise whose variable has another value.
type Broken struct {
	Promise
	// Is is the value, "" for a variable that is gone with its plugin.
	Is string
}

func (b Broken) String() string {
	if b.Is == "" {
		return b.Name + " is gone"
	}
	return b.Name + " = " + b.Is
}

// Promises are the variables that an instance of a level depends on while it runs. None are of one whose
// commits promise nothing.
func (s *Server) Promises(level Durability, volume string) []Promise {
	if level == InRAM {
		return nil
	}
	var out []Promise
	for _, r := range s.Family().profile {
		if r.watched && r.applies(s.Version, Run, volume, level, false) {
			out = append(out, Promise{strings.TrimPrefix(r.name, "loose_"), cmp.Or(r.promised, r.value)})
		}
	}
	return out
}

// LacksPlugin is the plugin that a durable instance of a level loads and that the server does not have, "" if it
// has all. What is built into a server is no plugin, and where its own directory is not known neither.
func (s *Server) LacksPlugin(level Durability) string {
	if s.Plugins == "" {
		return ""
	}
	for _, r := range s.Family().profile {
		if r.name != "plugin_load_add" || r.durability == "" || !r.applies(s.Version, Run, "", level, false) {
			continue
		}
		if _, err := os.Stat(filepath.Join(s.Plugins, r.value)); errors.Is(err, fs.ErrNotExist) {
			return r.value
		}
	}
	return ""
}

// LoadSQL returns the statements that load the plugin that a level needs into a server that runs, for as long as it does:
// its configuration names the plugin at the next start. There are none for what is built in.
func (s *Server) LoadSQL(level Durability) []string {
	for _, r := range s.Family().profile {
		if r.name == "plugin_load_add" && r.durability != "" && r.applies(s.Version, Run, "", level, false) {
			name := "rpl_" + strings.Replace(strings.TrimSuffix(r.value, ".so"), "semisync", "semi_sync", 1)
			return []string{"INSTALL PLUGIN " + name + " SONAME " + dbconn.Quote(r.value), "DELETE mysql.plugin FROM mysql.plugin USE INDEX () WHERE name = " + dbconn.Quote(name)}
		}
	}
	return nil
}

// AnswerSQL returns the statement after which commits are answered at once.
func (s *Server) AnswerSQL() string {
	p := s.waiting(Followed)
	p.Value = "OFF"
	return p.SQL()
}

// WaitSQL returns the statement after which commits of a level wait.
func (s *Server) WaitSQL(level Durability) string { return s.waiting(level).SQL() }

// waiting is the promise by which commits of a level wait.
func (s *Server) waiting(level Durability) Promise {
	all := s.Promises(level, "")
	return all[slices.IndexFunc(all, func(p Promise) bool { return strings.HasSuffix(p.Name, "_enabled") })]
}

// asked is a value as SELECT has it.
func asked(value string) string {
	switch value {
	case "ON":
		return "1"
	case "OFF":
		return "0"
	}
	return value
}

// keeps reports whether a value, as SELECT has it, is as good as the promised one.
func (p Promise) keeps(is string) bool {
	if p.Name == "innodb_flush_log_at_trx_commit" {
		return is != "0" // 1 syncs besides, which in RAM is the same
	}
	return asked(is) == asked(p.Value)
}

// BrokenPromises asks a server for the variables that are not as they were promised, by one statement.
func BrokenPromises(ctx context.Context, db *sql.DB, all []Promise) ([]Broken, error) {
	if len(all) == 0 {
		return nil, nil
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = "@@GLOBAL." + p.Name
	}
	values, into := make([]sql.NullString, len(all)), make([]any, len(all))
	for i := range values {
		into[i] = &values[i]
	}
	err := db.QueryRowContext(ctx, "SELECT "+strings.Join(names, ", ")).Scan(into...)
	if dbconn.IsUnknownVariable(err) && len(all) > 1 {
		return brokenOneByOne(ctx, db, all)
	}
	if dbconn.IsUnknownVariable(err) {
		return []Broken{{Promise: all[0]}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at what durable instances depend on: %w", err)
	}
	var out []Broken
	for i, p := range all {
		if !p.keeps(values[i].String) {
			out = append(out, Broken{p, values[i].String})
		}
	}
	return out, nil
}

// brokenOneByOne is for a server that lacks some of the variables.
func brokenOneByOne(ctx context.Context, db *sql.DB, all []Promise) (out []Broken, err error) {
	for _, p := range all {
		b, err := BrokenPromises(ctx, db, []Promise{p})
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}

// PromiseSQL returns the statements, one a line, that an init file ends with, so that promises are kept from
// the first connection on. That about checksums would begin another file of the log each time.
func PromiseSQL(all []Promise) string {
	var b strings.Builder
	for _, p := range all {
		if p.Name != "binlog_checksum" {
			b.WriteString(p.SQL() + ";\n")
		}
	}
	return b.String()
}

// SQL is the statement that keeps the promise again.
func (p Promise) SQL() string {
	value := asked(p.Value)
	if strings.Trim(value, "0123456789") != "" || value == "" {
		value = dbconn.Quote(value)
	}
	return "SET GLOBAL " + p.Name + " = " + value
}
