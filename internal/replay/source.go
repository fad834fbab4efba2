package replay

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/lobby"
)

// Before 11.5 MariaDB had rows of tables with system versioning that are current end at 2038-01-19 03:14:07.999999. An
// applier of a later server makes such an end the new one, 2106-02-07 06:28:15.999999, unless its source is as new: then
// somebody wrote that moment (system_versioning_insert_history). How new the source is it knows by the greeting of the
// connection alone, and not by the log. So where it matters it is greeted.
//
// https://mariadb.com/docs/server/reference/sql-structure/temporal-tables/system-versioned-tables

// greetWithin is how long an applier may take to connect.
const greetWithin = 30 * time.Second

// sourceVersion is the version of the server that wrote the first of the logs, if an applier has to know it, and else "".
func (p *plan) sourceVersion() string {
	for _, part := range p.parts {
		if part.Ends32 {
			return p.parts[0].Version
		}
	}
	return ""
}

// tellVersion is the end of takeRelayLog for an applier that has to know the version of its source: it connects to one that
// has the version, and no more.
func (s *session) tellVersion(ctx context.Context, version string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the applier: %w", err)
	}
	defer l.Close()
	if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(greetWithin)); err != nil {
		return fmt.Errorf("listen for the applier: %w", err)
	}
	greeted := make(chan struct{})
	var failed error    // once greeted is closed
	user := rand.Text() // other accounts of this machine may connect, too
	go func() {
		defer close(greeted)
		failed = greet(l, version, user)
	}()
	d := s.Server.Dialect()
	for _, text := range []string{d.ApplyFromSource(l.Addr().(*net.TCPAddr).Port, user, s.relayName(0), firstEvent), d.AskSource()} {
		if err := s.exec(ctx, text); err != nil {
			_ = l.Close()
			<-greeted
			return err
		}
	}
	select {
	case <-greeted:
	case <-ctx.Done():
		_ = l.Close()
		<-greeted
		return context.Cause(ctx)
	}
	if failed != nil {
		return fmt.Errorf("tell the applier which server wrote the log: %w", failed)
	}
	return s.exec(ctx, d.EndAsking())
}

// errStranger is of a connection that is not the applier's.
var errStranger = errors.New("it is not the applier")

// greet waits for the applier, which alone knows the name of a user, and tells it a version. Others hold up nobody.
func greet(l net.Listener, version, user string) error {
	in := lobby.New(lobby.Default).Listener(l, lobby.Plain)
	ctx, cancel := context.WithCancel(context.Background())
	told := make(chan error, 1)
	tell := func(err error) {
		select {
		case told <- err:
		default:
		}
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := in.Accept()
			if err != nil {
				tell(err)
				return
			}
			all.Go(func() {
				stop := context.AfterFunc(ctx, func() { _ = c.Close() })
				defer stop()
				defer c.Close()
				if err := answer(c, version, user); !errors.Is(err, errStranger) {
					tell(err)
				}
			})
		}
	})
	err := <-told
	cancel()
	_ = l.Close()
	all.Wait()
	return err
}

// answer lets who has the name of the user log in, and answers an error to all that is asked, at which the server gives up.
//
// https://mariadb.com/kb/en/connection/
func answer(c net.Conn, version, user string) error {
	const (
		protocol     = 10
		capabilities = 1<<0 | 1<<2 | 1<<9 | 1<<13 | 1<<15 | 1<<19 // long passwords and flags, 4.1, transactions, secure, plugins
		utf8         = 33
		autocommit   = 2
		plugin       = "mysql_native_password\x00"
		quit         = 1
		userAt       = 4 + 4 + 1 + 23 // behind capabilities, the largest packet, a character set, and zeros
		fatal        = 1236           // ER_MASTER_FATAL_ERROR_READING_BINLOG
	)
	le := binary.LittleEndian
	// The first part is what older replicas need to take the version for one.
	hello := append([]byte{protocol}, "5.5.5-"+version+"\x00"...)
	hello = append(le.AppendUint32(hello, 1), "saltsalt\x00"...)
	hello = append(le.AppendUint16(hello, capabilities&0xffff), utf8)
	hello = le.AppendUint16(le.AppendUint16(hello, autocommit), capabilities>>16)
	hello = append(append(hello, 21), make([]byte, 10)...)
	hello = append(append(hello, "saltsaltsalt\x00"...), plugin...)
	r := bufio.NewReader(c)
	if err := writePacket(c, 0, hello); err != nil {
		return errStranger
	}
	if b, err := readPacket(r); err != nil || len(b) < userAt || !bytes.HasPrefix(b[userAt:], append([]byte(user), 0)) {
		return errStranger
	}
	if err := writePacket(c, 2, []byte{0, 0, 0, autocommit, 0, 0, 0}); err != nil {
		return err
	}
	for {
		b, err := readPacket(r)
		switch {
		case err != nil:
			return err
		case len(b) > 0 && b[0] == quit:
			return nil
		}
		if err := writePacket(c, 1, append(le.AppendUint16([]byte{0xff}, fatal), "#HY000the relay log has it all"...)); err != nil {
			return err
		}
	}
}

func writePacket(w io.Writer, number byte, body []byte) error {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	b[3] = number
	_, err := w.Write(append(b, body...))
	return err
}

// readPacket reads the body of a packet, all of which are short.
func readPacket(r io.Reader) ([]byte, error) {
	const most = 1 << 16
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if n > most {
		return nil, fmt.Errorf("a packet of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}
