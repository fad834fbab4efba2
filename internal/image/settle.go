package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// settle starts the server once more with nothing to do: a copied directory is
// recovered and upgraded, and the redo log becomes a new, small one.
func (b *build) settle(ctx context.Context) error {
	if len(b.inputs) == 0 {
		return nil // bootstrap just did
	}
	if b.lastLog != "" {
		return b.settleByLog(ctx)
	}
	err := b.settleWith(ctx, "")
	if err != nil && strings.Contains(err.Error(), waitForLog) {
		return b.settlePrepared(ctx)
	}
	return err
}

// settleWith settles with more lines in the option file.
func (b *build) settleWith(ctx context.Context, lines string) error {
	c := b.start(server.Bootstrap, 0)
	text, err := b.Server.Render(c)
	if err != nil {
		return err
	}
	config, err := b.writeConfig(text + lines)
	if err != nil {
		return err
	}
	return b.Server.Settle(ctx, config, c, b.dir, b.logPath(), b.Account)
}

// waitForLog is what a server says on the copied directory of a killed one with
// transactions that wait for a verdict from the binary log, which is not copied.
const waitForLog = "prepared transactions!"

// settlePrepared commits the transactions that a killed server had prepared: each is
// whole, and those that were acknowledged are among them. The server ends by itself
// after that, with an error, and is settled in a second start.
func (b *build) settlePrepared(ctx context.Context) error {
	if err := b.settleWith(ctx, "\ntc_heuristic_recover = COMMIT\n"); err != nil && ctx.Err() != nil {
		return err
	}
	return b.settleWith(ctx, "")
}

// settleByLog settles the copy with the log that was kept: see keepLastLog.
func (b *build) settleByLog(ctx context.Context) error {
	if err := b.settleWith(ctx, "\nlog_bin = "+b.lastLog+"\nserver_id = 1\n"); err != nil {
		return err
	}
	logs, err := sys.Glob(b.dataDir(), server.GlobEscape(b.lastLog)+".*")
	if err != nil {
		return fmt.Errorf("settle data directory: %w", err)
	}
	b.lastLog = ""
	for _, path := range logs {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
