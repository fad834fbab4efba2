// Command layers prints the packages of the module layer by layer, each with what it imports,
// and checks them against layers.txt, the one ordered list of layers:
//
//	go run ./tests/layers          print and check
//	go run ./tests/layers -write   write what is generated from the list, then print and check
//
// It fails on a cycle, on an import that does not lead downwards, on one that the list forbids,
// on a package that the list lacks, and when the layers in .golangci.yml or ARCHITECTURE.md are
// not what the list says.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed layers.txt
var listText string

// listFile is where the list lies in the module.
const listFile = "tests/layers/layers.txt"

func main() {
	write := flag.Bool("write", false, "write the rules of .golangci.yml and the table of ARCHITECTURE.md")
	root := flag.String("C", ".", "the `directory` of the module")
	flag.Parse()
	faults, err := run(*root, *write, false)
	if err != nil {
		faults = append(faults, err.Error())
	}
	for _, fault := range faults {
		fmt.Fprintln(os.Stderr, "layers:", fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
	fmt.Println("all imports lead downwards")
}

// run returns what is wrong with the layers of the module at root.
func run(root string, write, quiet bool) (faults []string, err error) {
	l, err := parseList(listText)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", listFile, err)
	}
	m, err := readModule(root)
	if err != nil {
		return nil, err
	}
	if !quiet {
		fmt.Print(picture(l, m))
	}
	faults = check(l, m)
	for _, g := range generated {
		fault, err := g.update(filepath.Join(root, g.file), l, m, write)
		if err != nil {
			return faults, err
		}
		if fault != "" {
			faults = append(faults, fault)
		}
	}
	return faults, nil
}
