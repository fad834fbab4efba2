package supervisor

import (
	"context"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// ownAccount is what to do for a password of one's own: that of the application's account is Ramaria's, whose DSN works after
// each start, whatever was done to the account meanwhile.
const ownAccount = "hint: CREATE USER, for an account whose password is yours"

// PasswordPutBack says that a start has put the password back that a statement had changed.
func PasswordPutBack(i *instance.Instance) string {
	return fmt.Sprintf("the password of %s, which a statement had changed, is again that of the DSN\n%s", i.Endpoint.User, ownAccount)
}

// putPasswordBack notes what a start does, by its init file.
func (s *Supervisor) putPasswordBack() {
	s.passwordPutBack, s.inst.PasswordChanged, s.logins = s.inst.PasswordChanged, false, ""
}

// noteLogins remembers how the application logs in, before it can have changed that. A member that has not joined its
// cluster yet may not answer: then the first look does.
func (s *Supervisor) noteLogins(ctx context.Context) {
	if now, err := s.inst.Server.Dialect().LoginsOf(ctx, s.db, s.inst.Endpoint.User); err == nil {
		s.logins = now
	}
}

// lookAtPassword looks whether a statement has changed the password of the application's account since the server started.
func (w *watch) lookAtPassword(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	now, err := w.inst.Server.Dialect().LoginsOf(ctx, w.db, w.inst.Endpoint.User)
	if err != nil {
		return err
	}
	if w.logins == "" {
		w.logins = now
	}
	if changed := now != w.logins; changed != w.inst.PasswordChanged {
		w.inst.PasswordChanged = changed // for the command that starts it again
		return w.inst.Save()
	}
	return nil
}

// passwordWarning says what became of a password that a statement has changed, "" for nothing.
func (w *watch) passwordWarning() string {
	switch {
	case w.inst.PasswordChanged:
		return fmt.Sprintf("a statement has changed the password of %s: that of the DSN does not work, and the next start puts it back\n%s", w.inst.Endpoint.User, ownAccount)
	case w.passwordPutBack:
		return PasswordPutBack(w.inst)
	}
	return ""
}
