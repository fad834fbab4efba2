// Package lab is where scenarios measure: a home of its own for ramaria commands, the data that
// is loaded, servers in places (PlacedServer, PlainServer, TemplateServer) and their clients, the
// memory and disk that a scenario needs, and what the files of a row lie on. It measures nothing
// itself, and knows no scenario.
//
// The invariant: nothing that a Lab began outlives it.
package lab
