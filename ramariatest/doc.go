// Package ramariatest gives each test a database of its own on a real MySQL or MariaDB
// server, with the data that the test needs. When the test is done, the database is put
// back in about a millisecond.
//
//	func TestOrder(t *testing.T) {
//		t.Parallel()
//		db := ramariatest.New(t, ramariatest.Template("shop", ramariatest.FromDump("testdata/shop.sql")))
//		...
//	}
//
// # Where the server comes from
//
// If RAMARIA_API is set (`ramaria run -- go test ./...`, or `eval "$(ramaria env)"`),
// tests use that instance. Otherwise the first test of a process runs `ramaria up tests`,
// which any number of processes may do at once. That instance stays up on purpose, so
// that the next run finds its templates ready; `ramaria down tests --rm` removes it.
// `ramaria env --format remote` prints a RAMARIA_API, and a RAMARIA_TOKEN, for tests on
// other machines than the instance's.
//
// RAMARIA_INSTANCE sets another name than tests, and RAMARIA_BIN the path of the ramaria
// program if it is not in PATH. The variables of ramaria, such as
// RAMARIA_SERVER=mysql:9.7, choose the server; an instance that runs another one is an
// error.
//
// # What is isolated
//
// A database belongs to one test at a time. Its account sees no other database, and it
// starts with what its template has, AUTO_INCREMENT included. Connections are never
// passed from one test to the next, nor are session variables, temporary tables and locks.
// What a test changes outside of the database, for example by CREATE USER, stays; the
// test's log names it where the binary log shows it.
//
// When a test ends, its open transactions are rolled back and its connections closed. A
// test must itself close the connections that it opened by a DSN, since the database goes
// to another test.
//
// # How long a database is kept
//
// When a test is done, its database waits for the next test, since a reset costs less than
// a new database: at most four wait in a process, each for at most twenty seconds. Go
// calls no function when a test process ends, so the instance keeps those that wait then
// until their TTL, a minute, has run out. Where many packages are tested at once, let
// [Main] release them:
//
//	func TestMain(m *testing.M) { ramariatest.Main(m) }
package ramariatest
