// Package random holds running instances against what the documentation promises, by
// random statements. Several leases at once do what a grammar makes up (statements.txt),
// with clones of random templates (schema.txt), and are reset, marked, rewound and
// released through the API; after each of these the database must be the template's, or
// the mark's, in everything that SQL can see, and when it is used. Each run draws settings of the
// server (settings.txt), whose values every session begins with, Ramaria's own as well.
//
// It is written from docs/databases.md and the API's contract, and knows nothing of how
// a reset works. What only some servers understand is tagged in the text files: there is
// no condition on a flavour in the code.
package random
