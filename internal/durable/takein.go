package durable

import "context"

// TakeIn archives what a server has written while it started, before anybody can connect to it. waits is as for Keep.
func (k *Keeper) TakeIn(ctx context.Context, waits func(error)) error {
	if err := k.trim(); err != nil {
		return err
	}
	return k.catch(ctx, waits)
}
