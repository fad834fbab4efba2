package front

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
)

// admit checks who the client is, and gives it a connection to the server. It says so to the client.
func (s *session) admit(ctx context.Context, g greeting, seq byte) (byte, error) {
	w, st, salt, seq, err := s.identify(ctx, g, seq)
	if err != nil {
		return seq, err
	}
	if !s.door.admit(s) {
		return seq, refuse(erTooMany, stateGone, "ramaria: the door has %d connections, and lets no more in", MostConnections)
	}
	if err := s.client.SetDeadline(time.Now().Add(loginTime)); err != nil {
		return seq, err
	}
	ctx, cancel := context.WithTimeout(ctx, poolTime)
	defer cancel()
	if err := s.attach(ctx, st); err != nil {
		return seq, err
	}
	if w.more != nil {
		seq++
		if _, err := s.client.Write(packet(seq, w.more)); err != nil {
			return seq, err
		}
	}
	ok := s.server.ok
	if s.secure && w.hash != nil && g.can&canMySQL == 0 {
		sum := sha256.Sum256(append(append(w.hash([]byte(st.Endpoint.Password)), salt...), s.door.print...))
		ok = proven(ok, append([]byte{1}, strings.ToUpper(hex.EncodeToString(sum[:]))...), s.tracks())
	}
	_, err = s.client.Write(packet(seq+1, ok))
	return seq, err
}

// tracks reports whether the client reads what has changed of its session.
func (s *session) tracks() bool { return s.login.can&s.server.can&canTrack != 0 }

// identify has the client show who it is, in a way and with a salt that it returns.
func (s *session) identify(ctx context.Context, g greeting, seq byte) (w way, st client.Status, salt []byte, _ byte, err error) {
	if w, salt, seq, err = s.showing(g, seq); err != nil {
		return w, st, salt, seq, err
	}
	ctx, cancel := context.WithTimeout(ctx, knowTime)
	defer cancel()
	if st, err = s.door.known(ctx, false); err != nil {
		return w, st, salt, seq, err
	}
	if s.proves(w, salt, st) {
		return w, st, salt, seq, nil
	}
	if st, err = s.door.known(ctx, true); err != nil {
		return w, st, salt, seq, err
	}
	known := s.proves(w, salt, st)
	if !known && w.whole && s.login.user == st.Endpoint.User && st.Endpoint.Password != "" {
		w.more = nil
		if known, seq, err = s.tells(st.Endpoint.Password, salt, seq); err != nil {
			return w, st, salt, seq, err
		}
	}
	if !known {
		accounts := "the account of ramaria env " + s.door.c.Name + " only; others connect to the server's own port"
		if s.door.far() {
			accounts = fmt.Sprintf("the account %s only, whose password is the token", st.Endpoint.User)
		}
		err = refuse(erAccessDenied, stateDenied, "Access denied for user '%s'@'%s' (ramaria front knows %s)", s.login.user, s.host, accounts)
	}
	return w, st, salt, seq, err
}

func hostOf(c net.Conn) string {
	host, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return "localhost"
	}
	return host
}

// showing has the client show that it knows the password in a way that the door knows: with the login, or else by
// another way that the client is asked for.
func (s *session) showing(g greeting, seq byte) (w way, salt []byte, _ byte, err error) {
	plugin := s.login.plugin
	if plugin == "" {
		plugin = native // clients of before have no other
	}
	if w, known := ways[plugin]; known && w.salt == len(g.salt) && len(s.login.auth) > 0 {
		return w, g.salt, seq, nil
	}
	if _, known := ways[plugin]; !known {
		plugin = g.plugin
	}
	if s.login.can&canPlugin == 0 {
		return w, nil, seq, refuse(erAccessDenied, stateDenied, "Access denied for user '%s'@'%s' (without a password)", s.login.user, s.host)
	}
	w = ways[plugin]
	salt = newSalt(w.salt)
	swap := append(append([]byte{isSwap}, plugin...), 0)
	swap = append(swap, salt...)
	if plugin != ed { // which takes all for its salt
		swap = append(swap, 0)
	}
	seq++
	if _, err := s.client.Write(packet(seq, swap)); err != nil {
		return w, nil, seq, err
	}
	s.login.auth, seq, err = s.read()
	return w, salt, seq, err
}

func (s *session) proves(w way, salt []byte, st client.Status) bool {
	return s.login.user == st.Endpoint.User && st.Endpoint.Password != "" && w.knows([]byte(st.Endpoint.Password), salt, s.login.auth)
}
