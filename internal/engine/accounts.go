package engine

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strconv"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// LockNewAccounts calls f and then locks the accounts without a password that f has added, even
// if f fails: other users of the machine can reach the port.
func (e *Engine) LockNewAccounts(ctx context.Context, i *instance.Instance, f func() error) error {
	db, err := dbconn.Open(i.Endpoint.Socket, i.Supervisor, "")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // who logs in afterwards may have no rights any more
	before, err := i.Server.Dialect().Passwordless(ctx, db)
	if err != nil {
		return err
	}
	err = f()
	locked, lockErr := i.Server.Dialect().LockNew(context.WithoutCancel(ctx), db, before)
	if len(locked) > 0 {
		e.note("%s", locked.LockedNote())
	}
	if _, gone := passwordlessAccounts(context.WithoutCancel(ctx), i); dbconn.AccessRefused(gone) {
		e.note("warning: the accounts that were loaded replace that of the DSN, which cannot log in any more\nhint: ramaria down %s; ramaria up %[1]s puts it back, beside the others", i.Name)
	}
	return errors.Join(err, lockErr)
}

// notePasswordless names the accounts without a password that a new instance has from where its data comes
// from: those of a data directory stay as they are.
func (e *Engine) notePasswordless(ctx context.Context, i *instance.Instance) {
	if len(i.Spec.From) == 0 {
		return
	}
	open, err := passwordlessAccounts(ctx, i)
	if err != nil {
		e.note("warning: %s", err)
	}
	if open = open.OverTCP(); len(open) > 0 {
		e.note("warning: every user of this machine can log in, over 127.0.0.1, by accounts without a password: %s\nhint: ALTER USER ... IDENTIFIED BY '...', or ALTER USER ... ACCOUNT LOCK", open)
	}
}

func passwordlessAccounts(ctx context.Context, i *instance.Instance) (dbconn.Passwordless, error) {
	db, err := dbconn.Open(i.Endpoint.Socket, i.Endpoint.Login, "")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return i.Server.Dialect().Passwordless(ctx, db)
}

// findUser finds a user of the machine by name, or by number.
func findUser(name string) (server.Account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.LookupId(name)
	}
	if err != nil {
		return server.Account{}, fmt.Errorf("no such user\nhint: getent passwd %s", server.ShellWord(name))
	}
	uid, uerr := strconv.Atoi(u.Uid)
	gid, gerr := strconv.Atoi(u.Gid)
	return server.Account{UID: uid, GID: gid}, errors.Join(uerr, gerr)
}
