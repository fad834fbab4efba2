package engine

import (
	"context"
	"errors"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// LockNewAccounts calls f and then locks the accounts without a password that f has added, even
// if f fails: other users of the machine can reach the port.
func (e *Engine) LockNewAccounts(ctx context.Context, i *instance.Instance, f func() error) error {
	db, err := dbconn.Open(i.Endpoint.Socket, i.Endpoint.Login, "")
	if err != nil {
		return err
	}
	defer db.Close()
	before, err := i.Server.Dialect().Passwordless(ctx, db)
	if err != nil {
		return err
	}
	err = f()
	locked, lockErr := i.Server.Dialect().LockNew(context.WithoutCancel(ctx), db, before)
	if len(locked) > 0 {
		e.note("%s", locked.LockedNote())
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
