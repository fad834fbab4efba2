package server

import "strings"

// StockFacts is what there is to know of a flavour for measuring it beside other servers, as its makers
// ship it.
type StockFacts struct {
	// Logs says that it writes a binary log and syncs it at each commit.
	Logs bool
	// FreshBytes is what a new data directory takes at most, and ResidentBytes the memory of the
	// process when it has done some work: both measured, and rounded up.
	FreshBytes, ResidentBytes int64
	// Engines are the storage engines beside InnoDB and MEMORY that people make tables with.
	Engines []Engine
	// Temporary is where temporary tables go that are too large for memory.
	Temporary TemporaryTables
}

// Engine is a storage engine, with the variable that says how large its cache is.
type Engine struct{ Name, Cache string }

// TemporaryTables are the variables for temporary tables on disk: that of the size of their cache,
// "" where they share InnoDB's, and that of their directory, "" where it is tmpdir.
type TemporaryTables struct{ Cache, Dir string }

// FamilyByWords returns the family that alone knows words of a statement, nil if it has none such.
func FamilyByWords(statement string) *Family {
	for _, f := range Families {
		for _, word := range f.words {
			if strings.Contains(statement, word) {
				return f
			}
		}
	}
	return nil
}
