package storetest

import "testing"

func TestMemory(t *testing.T) { Run(t, NewMemory()) }
