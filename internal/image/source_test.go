package image

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
)

// tree makes files below a new directory: name, content; a name that ends in a
// slash is a directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o700)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLook(t *testing.T) {
	dir := tree(t, map[string]string{
		"shop.sql": "", "dumps/b.sql": "", "dumps/a.sql.gz": "", "dumps/notes.txt": "", "empty/": "",
		"data/ibdata1": "", "old/mysql/": "", "abcdef01": "", ".build-spool-1/app.sql": "",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name string
		from []string
		want []input
		err  string
	}{
		{name: "none"},
		{name: "a dump", from: []string{at("shop.sql")}, want: []input{{kind: kindDump, path: at("shop.sql"), name: "shop.sql"}}},
		{name: "a directory, by name", from: []string{at("dumps")}, want: []input{{kind: kindDump, path: at("dumps/a.sql.gz"), name: "a.sql.gz"}, {kind: kindDump, path: at("dumps/b.sql"), name: "b.sql"}}},
		{name: "a data directory", from: []string{at("data")}, want: []input{{kind: kindDataDir, path: at("data"), name: "data directory " + at("data")}}},
		{name: "an old data directory", from: []string{at("old")}, want: []input{{kind: kindDataDir, path: at("old"), name: "data directory " + at("old")}}},
		{name: "an image", from: []string{"0123456789abcdef"}, want: []input{{kind: kindImage, path: "0123456789abcdef", name: "image 0123456789abcdef"}}},
		{name: "a file named like an image", from: []string{at("abcdef01")}, want: []input{{kind: kindDump, path: at("abcdef01"), name: "abcdef01"}}},
		{name: "a command", from: []string{"exec: ./x --y "}, want: []input{{kind: kindExec, path: "./x --y", name: "exec: ./x --y "}}},
		{name: "standard input", from: []string{at(".build-spool-1/app.sql")}, want: []input{{kind: kindDump, path: at(".build-spool-1/app.sql"), name: "standard input"}}},
		{name: "a data directory and a dump", from: []string{at("data"), at("shop.sql")}, want: []input{
			{kind: kindDataDir, path: at("data"), name: "data directory " + at("data")}, {kind: kindDump, path: at("shop.sql"), name: "shop.sql"},
		}},
		{name: "a dump and a data directory", from: []string{at("shop.sql"), at("data")}, err: "can only come first"},
		{name: "two images", from: []string{"0123456789abcdef", "0123456789abcdee"}, err: "can only come first"},
		{name: "nothing there", from: []string{at("nosuch.sql")}, err: "there is no such file or directory"},
		{name: "an empty directory", from: []string{at("empty")}, err: "there is no dump in this directory"},
		{name: "no command", from: []string{"exec:  "}, err: "there is no command"},
		{name: "an instance", from: []string{"instance:main"}, want: []input{{kind: kindInstance, path: "main", name: "instance main"}}},
		{name: "an instance and a dump", from: []string{"instance:main", at("shop.sql")}, want: []input{
			{kind: kindInstance, path: "main", name: "instance main"}, {kind: kindDump, path: at("shop.sql"), name: "shop.sql"},
		}},
		{name: "a dump and an instance", from: []string{at("shop.sql"), "instance:main"}, err: "can only come first"},
		{name: "no instance", from: []string{"instance:"}, err: "there is no name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := look(ParseSources(c.from))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "\nhint: ") {
					t.Errorf("got %v, want an error with %q and a hint", err, c.err)
				}
				return
			}
			if err != nil || !cmp.Equal(got, c.want, cmp.AllowUnexported(input{})) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestAbsSources(t *testing.T) {
	dir := tree(t, map[string]string{"abcdef": ""})
	t.Chdir(dir)
	got, err := AbsSources(ParseSources([]string{"a.sql", "/b.sql", "-", "exec:x y", "instance:a", "0123456789ab", "abcdef"}))
	want := []Source{
		{FromPath, filepath.Join(dir, "a.sql")}, {FromPath, "/b.sql"}, {Kind: FromStdin}, {FromCommand, "x y"}, {FromInstance, "a"},
		{FromImage, "0123456789ab"}, {FromPath, filepath.Join(dir, "abcdef")},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
	// Records hold them as text, as they always did.
	text, err := json.Marshal(got)
	if want := `["` + dir + `/a.sql","/b.sql","-","exec:x y","instance:a","0123456789ab","` + dir + `/abcdef"]`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	var read []Source
	if err := json.Unmarshal(text, &read); err != nil || !cmp.Equal(read, want) {
		t.Errorf("read again: %v: %s", err, cmp.Diff(want, read))
	}
}

func mariadb(major, minor, patch int) *server.Server {
	return &server.Server{Flavour: server.MariaDB, Version: server.Version{Major: major, Minor: minor, Patch: patch}}
}

// TestRecipeID: the id changes with all that shapes an image, and with nothing else.
func TestRecipeID(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.sql": "CREATE TABLE t (a INT);", "copy/a.sql": "CREATE TABLE t (a INT);", "b.sql": "CREATE TABLE t (a INT);",
		"c.sql": "CREATE TABLE t (b INT);", "data/ibdata1": "x", "data2/ibdata1": "x", "data3/ibdata1": "y",
	})
	at := func(names ...string) []Source {
		for i, n := range names {
			names[i] = filepath.Join(dir, n)
		}
		return ParseSources(names)
	}
	id := func(r Recipe) string {
		t.Helper()
		if r.Server == nil {
			r.Server = mariadb(10, 11, 14)
		}
		got, err := r.ID(t.Context(), memo.Store{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	// Images of earlier versions of Ramaria stay what they are: when this changes on
	// purpose, Format does too.
	if got, want := id(Recipe{}), "0c7ac039746262bb"; got != want {
		t.Errorf("the id of an empty server is %s, was %s", got, want)
	}
	same := map[string][2]Recipe{
		"another path":         {{From: at("a.sql")}, {From: at("copy/a.sql")}},
		"another directory":    {{From: at("data")}, {From: at("data2")}},
		"a setting of the run": {{From: at("a.sql")}, {From: at("a.sql"), Set: map[string]string{"max_connections": "9"}}},
		"another account":      {{From: at("a.sql")}, {From: at("a.sql"), User: "joe"}},
		"an image is itself":   {{From: ParseSources([]string{"0123456789abcdef"})}, {From: ParseSources([]string{"0123456789abcdef"}), Database: "x"}},
	}
	for name, r := range same {
		if id(r[0]) != id(r[1]) {
			t.Errorf("%s: another image", name)
		}
	}
	differ := map[string]Recipe{
		"empty":             {},
		"a dump":            {From: at("a.sql")},
		"its name":          {From: at("b.sql")},
		"its content":       {From: at("c.sql")},
		"two":               {From: at("a.sql", "c.sql")},
		"the order":         {From: at("c.sql", "a.sql")},
		"the database":      {From: at("a.sql"), Database: "x"},
		"a shaping setting": {From: at("a.sql"), Set: map[string]string{"sql_mode": "ANSI"}},
		"the version":       {From: at("a.sql"), Server: mariadb(10, 11, 15)},
		"a command":         {From: ParseSources([]string{"exec:x"}), Key: "1"},
		"its text":          {From: ParseSources([]string{"exec:y"}), Key: "1"},
		"its key":           {From: ParseSources([]string{"exec:x"}), Key: "2"},
		"its account":       {From: ParseSources([]string{"exec:x"}), Key: "1", User: "joe"},
		"a data directory":  {From: at("data")},
		"its files":         {From: at("data3")},
	}
	seen := map[string]string{}
	for name, r := range differ {
		got := id(r)
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q are one image", name, other)
		}
		seen[got] = name
	}
	if _, err := (Recipe{Server: mariadb(10, 11, 14), From: ParseSources([]string{"exec:x"})}).ID(t.Context(), memo.Store{}); err == nil || !strings.Contains(err.Error(), "\nhint: add --key") {
		t.Errorf("exec without a key: got %v", err)
	}
}

func TestOrigin(t *testing.T) {
	p := &plan{}
	if got := p.origin(); got != "empty server" {
		t.Errorf("got %q", got)
	}
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		p.inputs = append(p.inputs, input{name: n})
	}
	if got := p.origin(); got != "a, b, c, 2 more" {
		t.Errorf("got %q", got)
	}
}

func TestStem(t *testing.T) {
	for path, want := range map[string]string{
		"/d/shop-schema.sql": "shop", "shop_data.sql.gz": "shop", "shop.sql": "shop", "data.sql": "data", "schema.sql": "schema",
		"metadata.sql": "metadata", "shop.rows.sql": "shop",
	} {
		if got := stem(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestOnlyDatabase(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"none":         {map[string]string{"mysql/": "", "sys/": "", "ibdata1": ""}, ""},
		"one":          {map[string]string{"mysql/": "", "shop/": "", "performance_schema/": "", "#innodb_redo/": ""}, "shop"},
		"two":          {map[string]string{"mysql/": "", "shop/": "", "other/": ""}, ""},
		"encoded name": {map[string]string{"my@002dshop/": ""}, ""},
		"a file":       {map[string]string{"shop": ""}, ""},
	} {
		if got := onlyDatabase(tree(t, c.files)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestHashStopsWithContext: a hash of gigabytes can be interrupted.
func TestHashStopsWithContext(t *testing.T) {
	dir := tree(t, map[string]string{"a.sql": "x"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hashFile(ctx, memo.Store{}, filepath.Join(dir, "a.sql")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
