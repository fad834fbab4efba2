// Package semisync acknowledges a server's commits as a semi-synchronous replica does, by position
// in the binary log. It reads nothing of the log that the server sends: whoever follows the log as a file
// knows what lasts.
//
// The invariant: a position is acknowledged only by Ack. What the server takes for one by itself,
// the position that a dump starts from, is a parameter for that reason.
//
// https://mariadb.com/docs/server/ha-and-performance/standard-replication/semisynchronous-replication
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication.html
package semisync

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

const (
	comBinlogDump    = 0x12
	comRegisterSlave = 0x15
	ackMagic         = 0xef
	// heartbeat has the server write twice a second where it has nothing to send, in nanoseconds: only then
	// does it see that a connection was closed, which takes the room of the next one.
	heartbeat = "SET @master_heartbeat_period = 500000000, @source_heartbeat_period = 500000000"
	// ackPatience is how long the server may take no acknowledgements: it reads them as they come.
	ackPatience = time.Second
	// maxAnswer bounds the server's answer to a command, in bytes.
	maxAnswer = 1 << 12
)

// Replica is a connection that a server takes for a replica.
type Replica struct {
	conn    net.Conn
	release func() error
	id      uint32
	packet  []byte
}

// Connect opens a connection. id is a server_id that no other replica has. The server waits with
// its commits for acknowledgements once Start has returned, and before that if it waits for
// replicas that are not there.
func Connect(ctx context.Context, socket string, login dbconn.Login, id uint32) (*Replica, error) {
	conn, release, err := dbconn.Raw(ctx, socket, login,
		heartbeat,
		"SET @master_binlog_checksum = @@GLOBAL.binlog_checksum, @source_binlog_checksum = @@GLOBAL.binlog_checksum",
		"SET @mariadb_slave_capability = 4, @rpl_semi_sync_slave = 1, @rpl_semi_sync_replica = 1",
		// The socket is full most of the time, since nothing is read from it.
		"SET net_write_timeout = 31536000")
	if err != nil {
		return nil, fmt.Errorf("connect as a replica: %w", err)
	}
	return &Replica{conn: conn, release: release, id: id}, nil
}

// Start has the server send its log from a position on, which the server takes as acknowledged: all
// before it must last. The file is named as in the server's index; offset 4 is its beginning.
func (r *Replica) Start(ctx context.Context, file string, offset uint32) error {
	// An answer that does not come ends with ctx.
	stop := context.AfterFunc(ctx, func() { _ = r.conn.SetDeadline(time.Now()) })
	err := r.start(file, offset)
	if !stop() {
		err = errors.Join(err, context.Cause(ctx))
	}
	return err
}

func (r *Replica) start(file string, offset uint32) error {
	register := make([]byte, 18)
	register[0] = comRegisterSlave
	binary.LittleEndian.PutUint32(register[1:], r.id)
	if err := r.send(register); err != nil {
		return fmt.Errorf("register as a replica: %w", err)
	}
	if err := r.answer(); err != nil {
		return fmt.Errorf("register as a replica: %w", err)
	}
	dump := make([]byte, 11, 11+len(file))
	dump[0] = comBinlogDump
	binary.LittleEndian.PutUint32(dump[1:], offset)
	binary.LittleEndian.PutUint32(dump[7:], r.id)
	if err := r.send(append(dump, file...)); err != nil {
		return fmt.Errorf("ask for the binary log: %w", err)
	}
	return nil
}

// Begun waits, after Start, until the server has begun to send: it has taken note of the position then. The connection is
// of no more use but to be closed.
func (r *Replica) Begun(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = r.conn.SetDeadline(time.Now()) })
	err := r.answer()
	if !stop() {
		err = errors.Join(err, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("wait for the binary log: %w", err)
	}
	return nil
}

// Ack acknowledges all of the log before a position. A wrong name of the file would release every
// commit: take it from the server's index. After an error the connection is of no use any more.
func (r *Replica) Ack(file string, offset uint64) error {
	r.packet = append(r.packet[:0], 0, 0, 0, 0, ackMagic)
	r.packet = binary.LittleEndian.AppendUint64(r.packet, offset)
	r.packet = append(r.packet, file...)
	_ = r.conn.SetWriteDeadline(time.Now().Add(ackPatience)) // a closed connection says so when it is written to
	if err := r.write(r.packet); err != nil {
		return fmt.Errorf("acknowledge %s:%d: %w", file, offset, err)
	}
	return nil
}

func (r *Replica) send(payload []byte) error {
	return r.write(append(make([]byte, 4, 4+len(payload)), payload...))
}

// write sends a packet, numbered 0, whose header is yet to be filled.
func (r *Replica) write(b []byte) error {
	n := len(b) - 4
	b[0], b[1], b[2], b[3] = byte(n), byte(n>>8), byte(n>>16), 0
	_, err := r.conn.Write(b)
	return err
}

// answer reads an OK packet, or the server's error.
func (r *Replica) answer() error {
	var head [4]byte
	if _, err := io.ReadFull(r.conn, head[:]); err != nil {
		return err
	}
	n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if n == 0 || n > maxAnswer {
		return fmt.Errorf("an answer of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.conn, b); err != nil {
		return err
	}
	if b[0] == 0xff && n > 9 {
		return errors.New(string(b[9:]))
	}
	return nil
}

// Conn is the connection, for who asks whether the server has ended it, as KILL does.
func (r *Replica) Conn() net.Conn { return r.conn }

// Close ends the connection. Commits that are not acknowledged wait on.
func (r *Replica) Close() error { return r.release() }
