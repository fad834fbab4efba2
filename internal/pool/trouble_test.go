package pool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// hold takes all sessions that there are, and returns what gives them back.
func (h *house) hold() (release func()) {
	h.t.Helper()
	var list []func()
	for range 8 {
		done, err := h.Hold(h.t.Context())
		if err != nil {
			h.t.Fatal(err)
		}
		list = append(list, done)
	}
	return func() {
		for _, done := range list {
			done()
		}
	}
}

// TestLateBuilder cannot finish the build of another who had the turn after it.
func TestLateBuilder(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	r := pool.TemplateRequest{Family: "app", Key: "v", Build: time.Second}
	a := h.claim(r)
	r.Build = 0
	b := h.claim(r) // waits until the other's turn has ended
	if b.Build == nil {
		t.Fatal("it is there, though its builder has not finished it")
	}
	h.exec(h.root, "CREATE TABLE "+b.Template.Name+".half (id int)")
	if _, err := h.PutTemplate(t.Context(), a.Template.Name); !errors.Is(err, pool.ErrNotFound) {
		t.Errorf("a late end of a build: %v", err)
	}
	_ = h.DeleteTemplate(a.Template.Name)
	h.exec(h.root, "CREATE TABLE "+b.Template.Name+".whole (id int)")
	h.put(b.Template.Name)
	if c := h.claim(r); c.Build != nil || c.Template.Tables != 2 {
		t.Errorf("the template is %+v", c)
	}
}

// TestEndedWhileFinished gives a build up while it is being finished.
func TestEndedWhileFinished(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	c := h.claim(pool.TemplateRequest{Family: "app", Key: "v"})
	release := h.hold()
	put := make(chan error)
	go func() {
		_, err := h.PutTemplate(context.WithoutCancel(t.Context()), c.Template.Name)
		put <- err
	}()
	time.Sleep(100 * time.Millisecond)
	if err := h.DeleteTemplate(c.Template.Name); err != nil {
		t.Fatal(err)
	}
	release()
	if err := <-put; err == nil {
		t.Error("a build that was given up was finished")
	}
	h.soon("no database of it", func() bool { return len(h.databases("app_")) == 0 && len(h.Templates()) == 0 })
}

// TestPutCancelled does not make a template that was changed one that was not.
func TestPutCancelled(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.put("shop")
	h.exec(h.root, "INSERT INTO shop.item (name) VALUES ('later')")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		if _, err := h.PutTemplate(gone, "shop"); err == nil {
			t.Fatal("it was put though its request had ended")
		}
	}
	if _, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop"}); !errors.Is(err, reset.ErrTemplateChanged) {
		t.Errorf("a clone of a template that was changed: %v", err)
	}
}

// TestKeyAfterRestart is that of the template that was built last.
func TestKeyAfterRestart(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	r := pool.TemplateRequest{Family: "app", Key: "v"}
	old := h.claim(r)
	h.fill(old)
	h.exec(h.root, "INSERT INTO "+old.Template.Name+".t VALUES (666)")
	h.fill(h.claim(r))
	for range 5 {
		h.Close()
		h.open()
		if c := h.claim(r); c.Build != nil || c.Template.Name == old.Template.Name {
			t.Errorf("after a restart: %+v", c)
		}
	}
	// One that is gone while somebody has a clone of it is built again.
	name := h.claim(r).Template.Name
	h.lease(pool.Request{Template: name, Name: "mine"})
	h.Close()
	h.exec(h.root, "DROP DATABASE "+name)
	h.open()
	if c := h.claim(r); c.Build == nil {
		t.Errorf("it is gone, and there: %+v", c)
	}
}

// TestDataOfAnotherTime: after a rewind the user's databases have the names of the pool's spare
// clones: the mark is older than they are.
func TestDataOfAnotherTime(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.limit(64, 2)
	h.put("shop")
	h.stocked(2)
	h.Close()
	h.exec(h.root, "DROP DATABASE shop_1")
	for _, user := range h.users("lease_%") {
		h.exec(h.root, "DROP USER "+user)
	}
	h.exec(h.root, "CREATE DATABASE shop_1")
	h.open()
	h.put("shop")
	time.Sleep(2500 * time.Millisecond)
	if !slices.Contains(h.databases("shop_"), "shop_1") {
		t.Error("a database of the user's is gone")
	}
}

// users are the accounts of the server that are called so, quoted.
func (h *house) users(like string) (list []string) {
	h.t.Helper()
	rows, err := h.root.Query("SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user WHERE user LIKE ?", like)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			h.t.Fatal(err)
		}
		list = append(list, name)
	}
	if err := rows.Err(); err != nil {
		h.t.Fatal(err)
	}
	return list
}

// TestNothingLeft ends leases and the pool at once, as each run of tests does.
func TestNothingLeft(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.limit(64, 2)
		h.put("shop")
		h.stocked(2)
		var names []string
		for range 3 {
			l, db := h.lease(pool.Request{Template: "shop"})
			h.exec(db, "DROP TABLE sale")
			names = append(names, l.Name)
		}
		for _, name := range names {
			if err := h.Drop(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		h.Close()
		h.open()
		h.soon("no databases and no accounts", func() bool { return len(h.databases("shop_")) == 0 && len(h.users("lease_%")) == 0 })
	})
}

// TestUsedBeforeRestart counts a lease's time from its last use, or later.
func TestUsedBeforeRestart(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.put("shop")
	l, _ := h.lease(pool.Request{Template: "shop", TTL: 4 * time.Second})
	time.Sleep(3 * time.Second)
	if _, err := h.Database(l.Name); err != nil {
		t.Fatal(err)
	}
	h.Close()
	h.open()
	h.put("shop")
	time.Sleep(2 * time.Second)
	if _, err := h.Database(l.Name); err != nil {
		t.Errorf("two seconds after its last use, of four: %v", err)
	}
}

// TestKeptInTime keeps leases while those whose time has run out are being removed.
func TestKeptInTime(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.put("shop")
	for range 12 {
		h.lease(pool.Request{Template: "shop"})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.Expire(time.Now().Add(2 * time.Hour))
	}()
	time.Sleep(5 * time.Millisecond)
	var kept []string
	for i := range 12 {
		if l, err := h.Keep(fmt.Sprintf("shop_%d", i+1)); err == nil {
			kept = append(kept, l.Name)
		}
	}
	<-ended
	for _, name := range kept {
		if _, err := h.Database(name); err != nil {
			t.Errorf("a lease that was kept: %v", err)
		}
	}
	if len(kept) == 0 {
		t.Error("none was kept in time, so that nothing was tried")
	}
}

// TestFewerSpare removes the clones that are too many.
func TestFewerSpare(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.limit(64, 4)
	h.put("shop")
	h.stocked(4)
	h.limit(64, 2)
	h.soon("two spare ones", func() bool { return h.Templates()[0].Spare == 2 && len(h.databases("shop_")) == 2 })
}

// TestShapeAndSessions: as many resets wait for a template's shape as there are
// sessions, while a template is being made.
func TestShapeAndSessions(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.exec(h.root, "CREATE DATABASE other")
	h.put("shop")
	for range 8 {
		h.lease(pool.Request{Template: "shop"})
	}
	h.Close()
	h.open()
	release := h.hold()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	done := make(chan error)
	for i := range 8 {
		go func() {
			_, err := h.Reset(ctx, fmt.Sprintf("shop_%d", i+1), reset.RestoreCounters)
			done <- err
		}()
	}
	time.Sleep(100 * time.Millisecond)
	go func() {
		_, err := h.PutTemplate(ctx, "other")
		done <- err
	}()
	time.Sleep(100 * time.Millisecond)
	release()
	for range 9 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestGivenUpAfterTemplate gives up a request for a template that is gone by then.
func TestGivenUpAfterTemplate(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.limit(1, 0)
	h.exec(h.root, "CREATE DATABASE other")
	h.put("shop")
	h.put("other")
	for range 10 {
		l, _ := h.lease(pool.Request{Template: "shop"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := h.NewDatabase(ctx, pool.Request{Template: "other"})
			done <- err
		}()
		time.Sleep(20 * time.Millisecond)
		if err := h.DeleteTemplate("other"); err != nil {
			t.Fatal(err)
		}
		go cancel()
		if err := h.Drop(t.Context(), l.Name); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err == nil {
			t.Error("a clone of a template that is gone")
		}
		h.put("other")
	}
}

// TestMadeMeanwhile: a database that somebody else makes just before it is made is not ours, and
// stays.
func TestMadeMeanwhile(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.put("shop")
	h.exec(h.root, "CREATE DATABASE mine")
	h.exec(h.root, "CREATE TABLE mine.own (id int)")
	if err := h.Meanwhile(t.Context(), "shop", "mine"); !errors.Is(err, pool.ErrTaken) {
		t.Errorf("a lease of the name of somebody's database: %v", err)
	}
	h.exec(h.root, "INSERT INTO mine.own VALUES (1)")
	if list := h.Databases(); len(list) != 0 {
		t.Errorf("there are leases: %+v", list)
	}
	if _, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop", Name: "mine"}); !errors.Is(err, pool.ErrTaken) {
		t.Errorf("and once more: %v", err)
	}
}
