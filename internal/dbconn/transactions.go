package dbconn

import (
	"context"
	"database/sql"
	"encoding/hex"
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
// included, and asks what else is to be asked after that in the same round trip. It is
// exact: what is open is in it, and on MySQL also what is only begun.
func (d Dialect) OpenTransactions(ctx context.Context, conn *sql.Conn, user string, also ...Question) ([]Transaction, error) {
	var list []Transaction
	if err := Ask(ctx, conn, append([]Question{d.Transactions(user, &list)}, also...)...); err != nil {
		return nil, fmt.Errorf("ask for open transactions: %w", err)
	}
	return list, nil
}

// TransactionsByReport asks InnoDB's own report. information_schema.innodb_trx is a copy
// that is renewed at most every tenth of a second.
// https://mariadb.com/kb/en/show-engine-innodb-status/
func TransactionsByReport(user string, into *[]Transaction) Question {
	return Question{"SHOW ENGINE INNODB STATUS", func(rows *sql.Rows) error {
		var kind, name, text string
		if err := rows.Scan(&kind, &name, &text); err != nil {
			return err
		}
		list, err := parseTransactions(text, user)
		*into = list
		return err
	}}
}

// TransactionsBySchema asks performance_schema, since MySQL's report does not tell those
// that only read. Without it nothing is seen at all.
// It is read without a lock, and on a busy machine sometimes shows the last transaction of an idle
// session as active: ask twice before doing anything about one. A connection that has had none yet, whose number
// is 0 then, shows what is left of one that had its place before it, as by XA PREPARE and the end of that connection.
// https://dev.mysql.com/doc/refman/8.4/en/performance-schema-events-transactions-current-table.html
func TransactionsBySchema(user string, into *[]Transaction) Question {
	return Question{"SELECT t.processlist_id, e.xa_state = 'PREPARED', @@performance_schema " +
		"FROM (SELECT 1) one LEFT JOIN (performance_schema.threads t JOIN performance_schema.events_transactions_current e " +
		"ON e.thread_id = t.thread_id AND e.state = 'ACTIVE' AND e.event_id > 0) ON t.processlist_user = " + Quote(user), func(rows *sql.Rows) error {
		var thread sql.Null[uint64]
		var prepared sql.NullBool
		var on bool
		switch err := rows.Scan(&thread, &prepared, &on); {
		case err != nil:
			return err
		case !on:
			return fmt.Errorf("%w: performance_schema is off", ErrUnseen)
		case thread.Valid:
			*into = append(*into, Transaction{Thread: thread.V, Prepared: prepared.Bool})
		}
		return nil
	}}
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

// AskPrepared asks for the names of all prepared XA transactions.
func AskPrepared(f func(format uint32, global, branch string)) Question {
	return Question{Text: "XA RECOVER", Row: func(rows *sql.Rows) error {
		var format uint32
		var global, branch int
		var data []byte
		if err := rows.Scan(&format, &global, &branch, &data); err != nil {
			return err
		}
		if global < 0 || branch < 0 || global+branch > len(data) {
			return fmt.Errorf("list prepared transactions: a name of %d and %d bytes in %d", global, branch, len(data))
		}
		f(format, string(data[:global]), string(data[global:global+branch]))
		return nil
	}}
}

// PreparedByOthers calls f with the names of those prepared XA transactions that belong to
// connections of other users than the given one, though XA ROLLBACK could end them. On a server
// that keeps these from others there are none.
func (d Dialect) PreparedByOthers(ctx context.Context, conn *sql.Conn, user string, f func(format uint32, global, branch string)) error {
	query := d.Detached
	if query == "" {
		return nil
	}
	if err := Ask(ctx, conn, Question{Text: query + Quote(user), Row: func(rows *sql.Rows) error {
		var format uint32
		var global, branch string
		if err := rows.Scan(&format, &global, &branch); err != nil {
			return err
		}
		f(format, plainXID(global), plainXID(branch))
		return nil
	}}); err != nil {
		return fmt.Errorf("ask whose prepared transactions are: %w", err)
	}
	return nil
}

// plainXID is a part of a name as it was given, of which performance_schema says 0x00FF where it
// cannot be printed.
func plainXID(text string) string {
	digits, is := strings.CutPrefix(text, "0x")
	if !is {
		return text
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return text
	}
	return string(b)
}

// MakeWritable ends that a database is read only, where the server knows that.
func (d Dialect) MakeWritable(ctx context.Context, conn *sql.Conn, database string) error {
	if !d.ReadOnlyDatabases {
		return nil
	}
	if _, err := conn.ExecContext(ctx, "ALTER DATABASE "+QuoteName(database)+" READ ONLY = 0"); err != nil {
		return fmt.Errorf("make %s writable: %w", database, err)
	}
	return nil
}
