// Ramaria runs real MySQL and MariaDB servers in RAM.
package main

import (
	"os"

	"github.com/ramaria-db/ramaria/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
