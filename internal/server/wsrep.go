package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// WriteLogState has the GTIDs of a data directory of MariaDB without a binary log go on from a state of another's. The server
// reads it before Galera asks for the number that the cluster's next transaction gets. After a crash InnoDB does not have that
// (wsrep_init_gtid in wsrep_mysqld.cc), and without it the member would count from 1 on.
func WriteLogState(dataDir, gtids string, account Account) error {
	return WritePrivate(filepath.Join(dataDir, BinlogName+".state"), []byte(strings.ReplaceAll(gtids, ",", "\n")+"\n"), account)
}

// RecoverPosition has a member of Galera that does not run say where its data is in the cluster's sequence, after what InnoDB
// has to recover, and returns what it wrote. Its option file is at config.
func (s *Server) RecoverPosition(ctx context.Context, config string, c Config, account Account, dir string) (text string, err error) {
	path := filepath.Join(dir, "position.log")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of one that was killed
		return "", fmt.Errorf("open log: %w", err)
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("open log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close(), os.Remove(path)) }()
	// It opens its port unless it is told not to. With its log it commits what that has; without, InnoDB would roll back commits
	// that it has only prepared, and that were answered: they would be lost where no other member had them, and be in the log
	// twice where others have.
	args := []string{"--wsrep-recover", "--skip-networking", "--socket=" + filepath.Join(c.RunDir, "recover.sock"), "--pid-file=" + filepath.Join(c.RunDir, "recover.pid")}
	p, err := s.startWith(config, c, account, dir, args, nil, log, Unsynced)
	if err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		p.Kill()
		<-p.Done() // it has the files open until then
		return "", context.Cause(ctx)
	case <-p.Done():
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return string(b), nil
}
