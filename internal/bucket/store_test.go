package bucket_test

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/bucket"
	"github.com/ramaria-db/ramaria/internal/bucket/storetest"
)

// TestMemory: the store of the tests does what a store does.
func TestMemory(t *testing.T) { storetest.Run(t, bucket.NewMemory()) }
