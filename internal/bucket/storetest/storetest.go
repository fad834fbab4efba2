// Package storetest is the suite that each bucket.Store must pass.
package storetest

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bucket"
)

// Run tests an empty store.
func Run(t *testing.T, s bucket.Store) {
	t.Helper()
	ctx := t.Context()
	if _, err := s.Get(ctx, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("get what is not there: %v", err)
	}
	if err := s.Remove(ctx, "a"); err != nil {
		t.Errorf("remove what is not there: %v", err)
	}
	for i := range 1100 { // more than a page
		if err := s.Put(ctx, fmt.Sprintf("log/%04d", i), []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"logs", "a/b", "empty"} {
		if err := s.Put(ctx, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := s.Get(ctx, "empty"); err != nil || len(b) != 0 {
		t.Errorf("got %v, %v", b, err)
	}
	if err := s.Put(ctx, "log/0007", []byte("again")); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Get(ctx, "log/0007"); err != nil || string(b) != "again" {
		t.Errorf("got %q, %v", b, err)
	}
	list := func(prefix, after string) (names []string) {
		for o, err := range s.List(ctx, prefix, after) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, fmt.Sprint(o.Name, " ", o.Size))
		}
		return names
	}
	if got := list("log/", ""); len(got) != 1100 || got[0] != "log/0000 1" || got[7] != "log/0007 5" || got[1099] != "log/1099 1" {
		t.Errorf("%d objects, the last %s", len(got), got[len(got)-1])
	}
	if got := list("log/", "log/1097"); len(got) != 2 || got[0] != "log/1098 1" {
		t.Errorf("%v", got)
	}
	if got := list("", "log/2"); len(got) != 1 || got[0] != "logs 0" {
		t.Errorf("%v", got)
	}
	for o, err := range s.List(ctx, "", "") { // and no more
		if err != nil || o.Name != "a/b" {
			t.Error(o, err)
		}
		break
	}
	if err := s.Remove(ctx, "log/0007"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, "log/0007"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("get what was removed: %v", err)
	}
}
