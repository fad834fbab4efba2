package random

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	record "github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/tests/grammar"
)

//go:embed settings.txt
var settingsText string

const (
	// envSettings are the settings of a run, as it prints them, instead of drawn ones; "none" is none.
	envSettings = "RAMARIA_TEST_RANDOM_SET"
	// mostSettings is how many a run has at most: with many the statements of leases are refused.
	mostSettings = 5
	// settingsStream is the generator that draws them.
	settingsStream = 1 << 63
	// globally begins a setting that SET GLOBAL gives, as runs print it.
	globally, between = "global ", "; "
)

// drawn are settings of the server that a seed draws.
func drawn(seed uint64, s grammar.Software) (list []string) {
	switch text := os.Getenv(envSettings); text {
	case "":
	case "none":
		return nil
	default:
		return strings.Split(text, between)
	}
	return choose(seed, settable(s))
}

// settable are the settings that a server may be given; one with a larger weight is repeated.
func settable(s grammar.Software) []string {
	g := grammar.Grammar{}
	g.Read(grammar.Without(settingsText, leftOut()), s)
	all := g["option"]
	for _, text := range g["global"] {
		all = append(all, globally+text)
	}
	return all
}

// choose chooses some settings by a seed, none twice.
func choose(seed uint64, all []string) (list []string) {
	all = slices.Clone(all)
	r := generator(seed, settingsStream)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	n := r.IntN(mostSettings + 1)
	have := map[string]bool{}
	for _, text := range all {
		if name, _, _ := strings.Cut(text, "="); len(list) < n && !have[name] {
			have[name] = true
			list = append(list, text)
		}
	}
	return list
}

// softwareOf is a server before it runs.
func softwareOf(t *testing.T, want string) grammar.Software {
	t.Helper()
	srv := servertest.Find(t, want)
	return grammar.NewSoftware(string(srv.Flavour), srv.Version.String())
}

// options are the arguments of `up` that give an instance its settings.
func options(list []string) (args []string) {
	for _, text := range list {
		if strings.HasPrefix(text, globally) {
			continue
		}
		for _, option := range strings.Fields(text) {
			args = append(args, "--set", option)
		}
	}
	return args
}

// setGlobal gives a running server the settings that are no options, as its administrator does.
func (in *instance) setGlobal(ctx context.Context, dir string) error {
	var made record.Made
	if err := record.ReadJSON(filepath.Join(dir, "instance.json"), &made); err != nil {
		return err
	}
	db, err := dbconn.Open(in.endpoint.Socket, made.Supervisor, "")
	if err != nil {
		return err
	}
	for _, text := range in.settings {
		if setting, is := strings.CutPrefix(text, globally); is {
			_, e := db.ExecContext(ctx, "SET GLOBAL "+setting)
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, db.Close())
}

// What sessions of the tester set, so that it does not meet itself what it draws for the server. Those of leases
// are freed only of what would refuse most that they do: a tester under SQL_SAFE_UPDATES changes nothing.
var (
	free = []string{
		"SET SESSION TRANSACTION READ WRITE",
		"SET sql_safe_updates=0, sql_select_limit=18446744073709551615, sql_big_selects=1, wait_timeout=28800, net_read_timeout=30, net_write_timeout=60" +
			" /*M!100302 , max_statement_time=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0 */" +
			" /*M!100302 , max_session_mem_used=9223372036854775807 */ /*!50708 , max_execution_time=0 */",
	}
	calm = append(slices.Clone(free),
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		"SET autocommit=1, completion_type=0, sql_mode='', sql_auto_is_null=0, sql_quote_show_create=1, lock_wait_timeout=60")
)

// TestSettingsAreDrawn: a seed draws the same settings again, others draw others, and each line of the text has
// its turn on some server.
func TestSettingsAreDrawn(t *testing.T) {
	if os.Getenv(envSettings) != "" {
		t.Skip("SKIPPED: settings are given, so none are drawn")
	}
	for _, s := range []grammar.Software{grammar.NewSoftware("mariadb", "10.11"), grammar.NewSoftware("mysql", "9.7")} {
		all, seen := settable(s), map[string]bool{}
		for seed := range uint64(2000) {
			list := choose(seed, all)
			if again := choose(seed, all); !slices.Equal(list, again) || len(list) > mostSettings {
				t.Fatalf("seed %d draws %v, then %v", seed, list, again)
			}
			for _, text := range list {
				seen[text] = true
			}
		}
		for _, text := range all {
			if !seen[text] {
				t.Errorf("%s: %s is never drawn", s.Flavour, text)
			}
		}
	}
}
