package dbconn

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// TestAccountLost goes by the number, not by the text, which a statement may quote.
func TestAccountLost(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("broken pipe"), false},
		{&mysql.MySQLError{Number: 1373, Message: "Target log not found in binlog index"}, false},
		{&mysql.MySQLError{Number: 1040, Message: "Too many connections"}, false},
		{&mysql.MySQLError{Number: 1064, Message: "near 'Error 1045 (28000)'"}, false},
		{errors.New("Error 1045 (28000): Access denied for user"), false},
		{fmt.Errorf("purge: %w", &mysql.MySQLError{Number: 1045, Message: "Access denied for user"}), true},
		{&mysql.MySQLError{Number: 1141, Message: "There is no such grant defined for user"}, true},
		{&mysql.MySQLError{Number: 4151, Message: "Access denied, this account is locked"}, true},
		{&mysql.MySQLError{Number: 3118, Message: "Account is locked"}, true},
	} {
		if got := AccountLost(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
