package dbconn

// Every statement of ours that reads or changes a table of the schema mysql has USE INDEX () behind its name. An application
// may put a view there that calls its functions with the rights of who asks. Servers refuse the hint for a view (error 1176)
// as they open it, so that there is no moment between a check and the statement.

// Dialect is what the statements of this package depend on: the flavour of the server that they are
// sent to, and its version. Package server fills it in.
type Dialect struct {
	// CreateUsers returns the statements that make accounts, or replace them; names are the
	// accounts, and identified the same with their passwords.
	CreateUsers func(names, identified string) []string
	// PutBackUsers returns the statements that make accounts which are not there, and put back how those log in that
	// are: they keep what was given to them, such as roles. model is an account which that may make and leave, without
	// rights and locked; whoever calls it replaces it.
	PutBackUsers func(accounts []string, password, model string) []string
	// Accounts asks for the accounts: user, host, and how they log in, as JSON; see authentication.
	Accounts string
	// Logins asks how the accounts of a user log in, whose name comes as a literal for %s: a line an account.
	Logins string
	// LockAccounts is the beginning of the statement that locks accounts in their table, up to WHERE.
	LockAccounts string
	// Users asks for all accounts and roles: User, Host, plugin, is_role (Y, N).
	Users string
	// Own counts the accounts of a user in that table; the name comes as a literal for %s.
	Own string
	// Withheld are the privileges that the application does not get, and ObeyReadOnly that
	// by which it could write in spite of read_only.
	Withheld     []string
	ObeyReadOnly string
	// ObeySource are those by which it could end what a replica follows, or have it pass over what comes from there.
	ObeySource string
	// Leased is a privilege without which an account cannot change what is in its own
	// database, "" for none.
	Leased string
	// Verbatim is the global variable while which is on GRANT takes _ and % in the name of a database for themselves, and
	// a backslash before them, too; "" if there is none.
	Verbatim string
	// Unlogged are the variables of a session that puts things back, beside those of every other; see OpenUnlogged.
	Unlogged []Variable
	// RowLocks asks which connections hold locks on rows of a database that a connection waits for.
	RowLocks string
	// Transactions finds the open transactions of a user.
	Transactions func(user string, into *[]Transaction) Question
	// Detached asks for the names of prepared XA transactions of connections of other users than
	// one, which comes last; "" where such a transaction belongs to its connection alone.
	Detached string
	// Everybodys asks for the roles that all accounts have by a setting, of which no log tells; "" where there is none.
	Everybodys string
	// ReadOnlyDatabases says that a single database can be made read only.
	ReadOnlyDatabases bool
	// Applier is how it speaks of replicas.
	Applier ApplierWords
	// RootShut counts the account root@localhost if it is as a new data directory has it, which lets no one in by a
	// password, and OpenRoot lets it in by the one that %s is a literal of, also.
	RootShut, OpenRoot string
	// GTIDState is the global variable with which GTIDs the binary log goes on from, "" if it has none.
	GTIDState string
	// AppliedGTIDs is the global variable of those that an applier has applied, "" if it notes none.
	AppliedGTIDs string
}
