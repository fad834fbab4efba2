package corpus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/tests/home"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// The databases of a check, none of whose names stands in a dump.
const (
	byClient, byLoad, byFrom, byClone = "c_aaaaaa", "c_bbbbbb", "c_ffffff", "c_cccccc"
	// fromInstance is the instance that starts with an image of the dump.
	fromInstance = "other"
)

// maxSaid bounds what is kept of a difference, in characters.
const maxSaid = 2500

// Steps of a check, in order.
var steps = []string{"client", "load", "--from", "clone", "reset", "pack"}

// outcome is what came of a step: nothing said is as it must be.
type outcome struct {
	said string
	took time.Duration
}

// result is a check of one input on one server.
type result struct {
	input   input
	server  string
	refused *refusal // by the client
	steps   map[string]outcome
	// failure is instead of all that: there is no such input.
	failure string
}

// check is a check that goes on.
type check struct {
	*stand
	in   input
	text []byte
	want picture.Picture
	// meddle stands in for a fault of `load`, in a test of the check itself.
	meddle func(ctx context.Context) error
	result
}

// run does all steps.
func (c *check) run(ctx context.Context) (result, error) {
	c.result = result{input: c.in, server: c.stand.want, steps: map[string]outcome{}}
	var err error
	if c.text, err = os.ReadFile(c.in.file); err != nil {
		return c.result, err
	}
	at := byClient
	if c.in.named != "" {
		at = c.in.named
	}
	c.step("client", func() (err error) { c.want, err = c.byClient(ctx, at, c.text); return err })
	if said := c.steps["client"].said; said != "" && c.refused == nil {
		return c.result, errors.Join(fmt.Errorf("%s on %s: %s", c.in.name, c.stand.want, said), c.drop(ctx, at))
	}
	c.step("load", func() error { return c.load(ctx) })
	c.step("--from", func() error { return c.from(ctx) })
	if c.refused == nil && c.steps["load"].said == "" {
		c.clone(ctx)
	}
	c.step("pack", func() error { return c.pack(ctx, at) })
	return c.result, errors.Join(c.drop(ctx, at), c.drop(ctx, byLoad))
}

// step does a step, and keeps what was wrong.
func (c *check) step(name string, do func() error) {
	began := time.Now()
	err := do()
	o := outcome{took: time.Since(began)}
	if err != nil {
		o.said = fmt.Sprintf("%.*s", maxSaid, err)
	}
	if r := (&refusal{}); name == "client" && errors.As(err, &r) {
		c.refused = r
	}
	c.steps[name] = o
}

// needsRight are settings that take a right which the application has not. The client is spared them, since
// Ramaria leaves them out: docs/dumps.md.
var needsRight = regexp.MustCompile(`(?m)^SET (@@SESSION\.SQL_LOG_BIN|@@GLOBAL\.GTID_PURGED|SESSION innodb_strict_mode) *=.*;$`)

// byClient has the client load a text, and looks at what is there.
func (c *check) byClient(ctx context.Context, at string, text []byte) (picture.Picture, error) {
	to := at
	prepare := c.fresh
	if c.in.named != "" {
		to, prepare = "", c.drop
	}
	if err := prepare(ctx, at); err != nil {
		return nil, err
	}
	if err := c.client(ctx, to, needsRight.ReplaceAll(text, nil)); err != nil {
		return nil, err
	}
	return look(ctx, c.db, at)
}

// asClient judges what a command said, where the client has said something.
func (c *check) asClient(err error) error {
	var r *refusal
	switch {
	case c.refused == nil || err == nil && c.refused == nil:
		return err
	case err == nil:
		return fmt.Errorf("takes what the client refuses: %w", c.refused)
	case errors.As(err, &r) && r.number == c.refused.number && (r.line == c.refused.line || c.in.named != ""):
		return nil
	}
	return fmt.Errorf("refuses it otherwise than the client: %w\nthe client: %s", err, c.refused.text)
}

// same compares with what the client has loaded.
func (c *check) same(got picture.Picture, err error) error {
	if err != nil {
		return err
	}
	return differ(got, c.want)
}

func (c *check) load(ctx context.Context) error {
	if err := c.drop(ctx, byLoad); err != nil {
		return err
	}
	_, err := c.ramaria("load", "main", byLoad, c.in.file)
	if err == nil && c.meddle != nil {
		err = c.meddle(ctx)
	}
	if err != nil || c.refused != nil {
		return c.asClient(err)
	}
	return c.same(look(ctx, c.db, byLoad))
}

// from builds an image of the dump, and looks at an instance with it.
func (c *check) from(ctx context.Context) (err error) {
	id, err := c.ramaria("image", "build", "--from", c.in.file, "--database", byFrom)
	if err == nil {
		id = strings.TrimSpace(id)
		defer func() {
			_, gone := c.Ramaria("image", "rm", id)
			err = errors.Join(err, gone)
		}()
	}
	if err != nil || c.refused != nil {
		return c.asClient(err)
	}
	defer func() {
		_, gone := c.Ramaria("rm", fromInstance)
		err = errors.Join(gone, err)
	}()
	if _, err := c.Ramaria("up", fromInstance, "--from", id); err != nil {
		return err
	}
	at, err := c.endpointOf(ctx, fromInstance)
	if err != nil {
		return err
	}
	db, err := home.Open(at, at.User, at.Password, "", "utf8mb4")
	if err != nil {
		return err
	}
	defer db.Close()
	database := byFrom
	if c.in.named != "" { // it keeps its name: --database is for dumps without one
		database = c.in.named
	}
	got, err := look(ctx, db, database)
	if err != nil {
		return err
	}
	return byAdmin(got, restarted(c.want))
}

// clone makes what was loaded a template, and compares a clone of it with what the client has loaded,
// before and after changes.
func (c *check) clone(ctx context.Context) {
	c.step("clone", func() error {
		if _, err := c.Ramaria("template", "add", byLoad); err != nil {
			return err
		}
		if _, err := c.Ramaria("db", "new", byLoad, "--name", byClone); err != nil {
			return err
		}
		return c.same(look(ctx, c.db, byClone))
	})
	c.step("reset", func() error {
		if err := c.change(ctx, byClone); err != nil {
			return err
		}
		if _, err := c.Ramaria("db", "reset", byClone); err != nil {
			return err
		}
		return c.same(look(ctx, c.db, byClone))
	})
	_, dropped := c.Ramaria("db", "rm", byClone)
	_, removed := c.Ramaria("template", "rm", byLoad)
	if err := errors.Join(dropped, removed); err != nil && c.steps["clone"].said == "" {
		c.steps["reset"] = outcome{said: c.steps["reset"].said + err.Error()}
	}
}

// pack has the client load the packed dump.
func (c *check) pack(ctx context.Context, at string) error {
	packed := filepath.Join(c.Dir, "packed.sql")
	if _, err := c.Ramaria("dump", "pack", c.in.file, "-o", packed); err != nil {
		return err
	}
	text, err := os.ReadFile(packed)
	if err != nil {
		return err
	}
	got, err := c.byClient(ctx, at, text)
	if c.refused != nil {
		if r := (&refusal{}); errors.As(err, &r) && r.number == c.refused.number {
			return nil // lines are others
		}
		return c.asClient(err)
	}
	return c.same(got, err)
}
