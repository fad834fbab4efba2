package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Transaction is one that a session has open.
type Transaction struct {
	// Thread is the session's connection id.
	Thread uint64
	// Prepared says that it is an XA transaction that waits for its verdict.
	Prepared bool
}

// ErrUnseen says that the server cannot tell which transactions are open.
var ErrUnseen = errors.New("the server does not tell which transactions are open")

// OpenTransactions returns the transactions of sessions of the user, those that only read
// included. It is exact: what is open is in it, and on MySQL also what is only begun.
func (s *Server) OpenTransactions(ctx context.Context, conn *sql.Conn, user string) ([]Transaction, error) {
	list, err := s.family().transactions(ctx, conn, user)
	if err != nil {
		return nil, fmt.Errorf("ask for open transactions: %w", err)
	}
	return list, nil
}

// transactionsByReport asks InnoDB's own report. information_schema.innodb_trx is a copy
// that is renewed at most every tenth of a second.
// https://mariadb.com/kb/en/show-engine-innodb-status/
func transactionsByReport(ctx context.Context, conn *sql.Conn, user string) ([]Transaction, error) {
	var kind, name, text string
	if err := conn.QueryRowContext(ctx, "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &text); err != nil {
		return nil, err
	}
	return parseTransactions(text, user)
}

// transactionsBySchema asks performance_schema, since MySQL's report does not tell those
// that only read. Without it nothing is seen at all.
// https://dev.mysql.com/doc/refman/8.4/en/performance-schema-events-transactions-current-table.html
func transactionsBySchema(ctx context.Context, conn *sql.Conn, user string) (list []Transaction, err error) {
	// #nosec G202 -- it is quoted; with a parameter it would be two round trips
	rows, err := conn.QueryContext(ctx, "SELECT t.processlist_id, e.xa_state = 'PREPARED', @@performance_schema "+
		"FROM (SELECT 1) one LEFT JOIN (performance_schema.threads t JOIN performance_schema.events_transactions_current e "+
		"ON e.thread_id = t.thread_id AND e.state = 'ACTIVE') ON t.processlist_user = "+quote(user))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var thread sql.Null[uint64]
		var prepared sql.NullBool
		var on bool
		if err := rows.Scan(&thread, &prepared, &on); err != nil {
			return nil, err
		}
		if !on {
			return nil, fmt.Errorf("%w: performance_schema is off", ErrUnseen)
		}
		if thread.Valid {
			list = append(list, Transaction{Thread: thread.V, Prepared: prepared.Bool})
		}
	}
	return list, rows.Err()
}

// The words of the report.
const (
	transactionHead = "---TRANSACTION "
	threadWords     = " thread id "
	handleWords     = ", OS thread handle "
	queryWords      = "query id "
	truncatedWords  = "... truncated..."
)

// parseTransactions finds the open transactions of a user in InnoDB's report.
func parseTransactions(report, user string) ([]Transaction, error) {
	if strings.Contains(report, truncatedWords) {
		return nil, fmt.Errorf("%w: there are so many that it leaves some out", ErrUnseen)
	}
	var list []Transaction
	// Each begins with a head, behind which lies its state; the line of its session, if it
	// has one, comes later. Lines of a session's own text follow that.
	open, prepared := false, false
	for line := range strings.Lines(report) {
		if rest, is := strings.CutPrefix(line, transactionHead); is {
			_, state, _ := strings.Cut(rest, ", ")
			open, prepared = !strings.HasPrefix(state, "not started"), strings.Contains(state, "PREPARED")
			continue
		}
		_, rest, is := strings.Cut(line, threadWords)
		if !open || !is {
			continue
		}
		number, rest, is := strings.Cut(rest, handleWords)
		if !is {
			continue
		}
		thread, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			continue
		}
		// "..., query id 22 localhost 127.0.0.1 USER STATE": an address only over TCP.
		_, rest, _ = strings.Cut(rest, queryWords)
		words := strings.Fields(rest)
		for _, w := range words[min(1, len(words)):] {
			if w == user {
				list = append(list, Transaction{Thread: thread, Prepared: prepared})
				break
			}
		}
		open = false
	}
	return list, nil
}
