package pool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

func (h *house) claim(r pool.TemplateRequest) pool.Claim {
	h.t.Helper()
	c, err := h.ClaimTemplate(context.WithoutCancel(h.t.Context()), r)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// fill makes the database of a claim, and the template of it.
func (h *house) fill(c pool.Claim) {
	h.t.Helper()
	if c.Build == nil {
		h.t.Fatalf("%s is there already", c.Template.Name)
	}
	h.exec(h.root, "CREATE TABLE "+dbconn.QuoteName(c.Template.Name)+".t (id int PRIMARY KEY)")
	h.put(c.Template.Name)
}

// TestClaim has eight workers want a template: one builds it.
func TestClaim(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		var built atomic.Int64
		var wait sync.WaitGroup
		names := make([]string, 8)
		for i := range names {
			wait.Go(func() {
				c, err := h.ClaimTemplate(context.WithoutCancel(t.Context()), pool.TemplateRequest{Family: "app", Key: "v1"})
				if err != nil {
					t.Error(err)
					return
				}
				names[i] = c.Template.Name
				if c.Build == nil {
					return
				}
				built.Add(1)
				time.Sleep(50 * time.Millisecond)
				if _, err := h.root.Exec("CREATE TABLE " + dbconn.QuoteName(c.Build.Database) + ".t (id int PRIMARY KEY)"); err != nil {
					t.Error(err)
				}
				if _, err := h.PutTemplate(context.WithoutCancel(t.Context()), c.Template.Name); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		for _, name := range names {
			if name != names[0] || !strings.HasPrefix(name, "app_") {
				t.Errorf("names are %v", names)
			}
		}
		if built.Load() != 1 {
			t.Errorf("it was built %d times", built.Load())
		}
		l, err := h.NewDatabase(t.Context(), pool.Request{Template: names[0]})
		if err != nil {
			t.Fatal(err)
		}
		// It is there after a restart as well, unless somebody has removed it.
		h.Close()
		h.open()
		if c := h.claim(pool.TemplateRequest{Family: "app", Key: "v1"}); c.Build != nil || c.Template.Name != names[0] {
			t.Errorf("after a restart: %+v", c)
		}
		if err := h.Drop(t.Context(), l.Name); err != nil {
			t.Fatal(err)
		}
		h.exec(h.root, "INSERT INTO "+dbconn.QuoteName(names[0])+".t VALUES (1)")
		c := h.claim(pool.TemplateRequest{Family: "app", Key: "v1"})
		if c.Build == nil || c.Template.Name == names[0] {
			t.Errorf("a template that was changed is handed out: %+v", c)
		}
	})
}

// TestClaimGivenUp: what a builder gave up, or took too long for, the next one builds.
func TestClaimGivenUp(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	r := pool.TemplateRequest{Family: "app", Key: "v1"}
	first := h.claim(r)
	if _, err := h.ClaimTemplate(t.Context(), pool.TemplateRequest{Family: "app", Key: "v1", Wait: 20 * time.Millisecond}); !errors.Is(err, pool.ErrInUse) {
		t.Errorf("while another builds: %v", err)
	}
	second := make(chan pool.Claim)
	go func() { second <- h.claim(r) }()
	time.Sleep(20 * time.Millisecond)
	if err := h.DeleteTemplate(first.Template.Name); err != nil {
		t.Fatal(err)
	}
	c := <-second
	if c.Build == nil {
		t.Fatal("a build that was given up is there")
	}
	if _, err := h.PutTemplate(t.Context(), first.Template.Name); err == nil && first.Template.Name != c.Template.Name {
		t.Error("a build that was given up was finished")
	}
	h.fill(c)
	// One that takes too long.
	slow := pool.TemplateRequest{Family: "app", Key: "v2", Build: time.Second}
	late := h.claim(slow)
	again := h.claim(slow) // waits until then
	if again.Build == nil || again.Template.Name == late.Template.Name && time.Until(late.Expires) > 0 {
		t.Errorf("after its time: %+v", again)
	}
	h.fill(again)
	for _, bad := range []pool.TemplateRequest{{Family: "a b", Key: "x"}, {Family: "", Key: "x"}, {Family: "a"}, {Family: "a", Key: "x", Wait: -1}} {
		if _, err := h.ClaimTemplate(t.Context(), bad); !errors.Is(err, pool.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestBuildThatEnded does not take its name along: a database that somebody makes later is
// theirs, also after a restart.
func TestBuildThatEnded(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	ends := map[string]func(name string){
		"late":     func(string) {},
		"given up": func(name string) { _ = h.DeleteTemplate(name) },
	}
	for key, end := range ends {
		c := h.claim(pool.TemplateRequest{Family: "app", Key: key, Build: time.Second})
		end(c.Template.Name)
		h.soon(c.Template.Name+" gone", func() bool { return len(h.databases(c.Template.Name)) == 0 })
		h.soon("to be made again", func() bool {
			_, err := h.root.Exec("CREATE DATABASE " + dbconn.QuoteName(c.Template.Name))
			return err == nil
		})
		time.Sleep(50 * time.Millisecond) // what the end of the build has still to write
	}
	h.exec(h.root, "CREATE DATABASE app_other")
	h.Close()
	h.open()
	h.claim(pool.TemplateRequest{Family: "zoo", Key: "1"}) // the log is read, and what is left over removed
	time.Sleep(1500 * time.Millisecond)
	if got := h.databases("app_"); len(got) != 3 {
		t.Errorf("after a restart there are %v", got)
	}
}

// TestPrune removes templates of old keys, but none that is in use.
func TestPrune(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	var names []string
	for i := range 6 {
		c := h.claim(pool.TemplateRequest{Family: "app", Key: fmt.Sprint(i)})
		h.fill(c)
		names = append(names, c.Template.Name)
		if i == 0 {
			if _, err := h.NewDatabase(t.Context(), pool.Request{Template: c.Template.Name, Name: "mine"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.put("shop") // which is of no family
	var left []string
	for _, t := range h.Templates() {
		left = append(left, t.Name)
	}
	want := map[string]bool{names[0]: true, names[3]: true, names[4]: true, names[5]: true, "shop": true}
	if len(left) != len(want) {
		t.Errorf("%v are left of %v", left, names)
	}
	for _, name := range left {
		if !want[name] {
			t.Errorf("%s is left", name)
		}
	}
	h.soon("the databases of the others gone", func() bool { return len(h.databases("app_")) == 4 })
}
