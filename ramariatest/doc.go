// Package ramariatest gives each test a MySQL or MariaDB database of its own: a real
// server's, full of what the test needs from the start, and put back in about a
// millisecond when the test is done.
//
//	func TestOrder(t *testing.T) {
//		t.Parallel()
//		db := ramariatest.New(t, ramariatest.Template("shop", ramariatest.FromDump("testdata/shop.sql")))
//		...
//	}
//
// # Where the server comes from
//
// Where RAMARIA_API is set (`ramaria run -- go test ./...`, or `eval "$(ramaria env)"`),
// its instance is used. Otherwise the first test of a process runs `ramaria up tests`,
// which any number of processes may do at once. That instance stays up on purpose: the
// next run finds its templates ready. `ramaria down tests --rm` removes it.
// RAMARIA_INSTANCE is another name than tests, RAMARIA_BIN the program, if it is not the
// ramaria in PATH; ramaria's own variables, such as RAMARIA_SERVER=mysql:9.7, choose the
// server. An instance that runs another server is an error.
//
// # What is isolated
//
// A database belongs to one test at a time, with an account that sees nothing else, and
// has what its template has, AUTO_INCREMENT included. Connections are never handed from
// one test to the next, so neither are variables of a session, temporary tables and
// locks. What reaches beyond the database, such as CREATE USER, stays; the test's log
// says so where the server's log tells.
//
// When a test ends, what it left open is rolled back and closed. That does not reach the
// connections that it made by itself, with a DSN: it must close those, as the database
// goes on to another test.
//
// # How long a database is kept
//
// A database that a test is done with waits for the next one, as a reset costs less than
// a new database: at most four in a process, none for longer than twenty seconds.
// Go calls nothing when a test process ends, so those that wait then are kept by the
// instance until their TTL, a minute, has run out. Where many packages are tested at
// once, let [Main] give them back:
//
//	func TestMain(m *testing.M) { ramariatest.Main(m) }
package ramariatest
