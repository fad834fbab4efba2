package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/memo"
)

// Dumps returns the dumps that sources name, in the order in which they are to be loaded,
// and a key that stands for their contents. Sources that are no dumps are an error.
func Dumps(ctx context.Context, m memo.Store, from []Source) (paths []string, key string, err error) {
	inputs, err := look(from)
	if err != nil {
		return nil, "", err
	}
	h := sha256.New()
	for _, s := range inputs {
		if s.kind != kindDump {
			return nil, "", usagef("use source %s: a template is loaded from dumps only\nhint: --from FILE.sql", s.name)
		}
		sum, err := hashFile(ctx, m, s.path)
		if err != nil {
			return nil, "", err
		}
		fmt.Fprintf(h, "dump %s %q\n", sum, dumpfile.DatabaseName(s.path))
		paths = append(paths, s.path)
	}
	return paths, hex.EncodeToString(h.Sum(nil)), nil
}
