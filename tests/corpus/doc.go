// Package corpus holds `load`, `--from`, clones, resets and `dump pack` against schemas that other
// people wrote. The packages of Debian, Maven, npm, Go and PyPI ship them; none is in this
// repository. Each schema becomes a database with rows, the servers' own dumpers write it in many
// dialects, and each dump goes into each server in every way that there is. The server's own client
// says what is right.
//
//	make corpus                  all, and docs/corpus.md
//	make corpus CORPUS='^cacti'  inputs whose names match, without the page
//
// Without RAMARIA_TEST_CORPUS only the samples of tests/testdata go this way, on one server of each
// flavour.
package corpus
