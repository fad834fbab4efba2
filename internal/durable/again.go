package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// begunAgain is what was wrong when a server began another log.
const begunAgain = "its binary log was begun again (RESET MASTER)"

// BeginAgain begins an epoch with the data of the instance as it is, whose server does not run: its log is
// another one than the archive goes on from (Lost). Until then, from a time on, the promise was not kept. keys is the directory of keys that all servers of the
// user share. It waits for a disk that does not answer, until ctx ends: the error matches ErrHangs then.
func (k *Keeper) BeginAgain(ctx context.Context, keys string, from time.Time) error {
	return k.returns(ctx, func(ctx context.Context) error { return k.beginAgain(ctx, keys, from) })
}

func (k *Keeper) beginAgain(ctx context.Context, keys string, from time.Time) error {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	if err := k.endRun(ctx); err != nil {
		return err
	}
	if err := k.log.Close(); err != nil {
		k.Log.Warn("cannot close the log of the epoch before", "error", err)
	}
	if err := k.noteBlind(); err != nil {
		return err
	}
	// With an interval, some that were answered may be in the log alone that is not there any more.
	if err := k.beginEpoch(ctx, keys, k.Instance.Spec.Durable == instance.DurableCommit); err != nil {
		return err
	}
	if err := k.Archive.save(func(m *archive.Manifest) {
		m.Shut(time.Now(), m.Last().Base) // its sessions have ended with the server
		m.Breaches = append(m.Breaches, archive.Breach{From: from, To: time.Now(), What: begunAgain, Base: m.Last().Base})
	}); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.breached++
	return nil
}

// BaseFirst makes a base of the data of the instance as it is, whose server does not run, and begins an epoch with it:
// the log has statements that it may not repeat, which nobody may see before.
func (k *Keeper) BaseFirst(ctx context.Context, keys string) error {
	return k.returns(ctx, func(ctx context.Context) error {
		k.manifest.Lock()
		defer k.manifest.Unlock()
		if err := k.log.Close(); err != nil {
			return err
		}
		return k.beginEpoch(ctx, keys, true) // the log was archived first
	})
}

// beginEpoch makes a base and begins an epoch with it. The log of the epoch before is closed; complete is as for
// Archive.beginBehind.
func (k *Keeper) beginEpoch(ctx context.Context, keys string, complete bool) error {
	boot := k.Instance.Durable.Boot
	if err := k.Archive.beginBehind(ctx, k.Instance, keys, "", complete); err != nil {
		return err
	}
	k.Instance.Durable.Boot = boot // without it, what a power cut left on a disk would be taken for the data
	if err := k.Instance.Save(); err != nil {
		return err
	}
	epoch := k.Instance.Durable.Epoch
	log, err := archive.OpenLog(k.Archive.Disk, k.Archive.Manifest.LogID(epoch), archive.Position{})
	if err != nil {
		return fmt.Errorf("begin an epoch: %w", err)
	}
	fences, err := newFences(k.Instance, epoch, archive.Position{}, archive.Position{}, k.fences.powers.Load(), k.Log, k.dueNow)
	if err != nil {
		return fmt.Errorf("begin an epoch: %w", errors.Join(err, log.Close()))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trouble, k.ended = nil, nil
	k.log, k.epoch, k.Seed, k.fences = log, epoch, k.Archive.Manifest.Last().GTIDState, fences
	k.ship = k.shipper()
	return nil
}

// Renew has acknowledgements go over another connection: after its settings were changed, a server may not
// listen to the one that it has.
func (k *Keeper) Renew() {
	if k.acks != nil {
		k.acks.renew()
	}
}
