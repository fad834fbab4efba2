package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/memo"
)

// Dump is a file that a source names.
type Dump struct {
	Path string
	// Name is what people call it, and Called what errors about the file do.
	Name, Called string
	// Dir says that it is a directory that another program wrote.
	Dir bool
}

// Dumps returns the dumps that sources name, in the order in which they are to be loaded,
// and a key that stands for their contents. Sources that are no dumps are an error.
func Dumps(ctx context.Context, m memo.Store, from []Source) (dumps []Dump, key string, err error) {
	inputs, err := look(from)
	if err != nil {
		return nil, "", err
	}
	h := sha256.New()
	for _, s := range inputs {
		if s.kind != kindDump {
			return nil, "", usagef("use source %s: a template is loaded from dumps only\nhint: --from FILE.sql", s.name)
		}
		sum, err := s.hash(ctx, m)
		if err != nil {
			return nil, "", err
		}
		fmt.Fprintf(h, "dump %s %q\n", sum, dumpfile.DatabaseName(s.path))
		dumps = append(dumps, Dump{Path: s.path, Name: s.name, Called: s.called(), Dir: s.dir})
	}
	return dumps, hex.EncodeToString(h.Sum(nil)), nil
}
