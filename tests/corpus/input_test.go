package corpus

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// input is a dump.
type input struct {
	name, dialect string
	file          string
	size          int
	// named is the database that the dump uses itself; empty: it has the client's.
	named string
}

// sourceDatabase is what a schema is called while it is dumped.
const sourceDatabase = "c_source"

//go:embed sums.txt
var pinnedSums string

// oneTime stands in front of the text of a package, which may store when it is loaded.
const oneTime = "SET timestamp=1700000000;"

// maker makes inputs.
type maker struct {
	dir    string // of the files
	only   *regexp.Regexp
	stands []*stand
	// failures are sources that were not there, or not as pinned, and dumps that could not be made.
	failures []string
	sums     []string
}

func (m *maker) fail(format string, args ...any) {
	m.failures = append(m.failures, fmt.Sprintf(format, args...))
}

// make makes the inputs of some sources.
func (m *maker) make(ctx context.Context, t *testing.T, list []source) (inputs []input) {
	t.Helper()
	for _, s := range list {
		number := slices.IndexFunc(sources, func(other source) bool { return other.name == s.name })
		made, err := m.of(ctx, s, number)
		if err != nil {
			t.Logf("NO SOURCE %s: %v", s.name, err)
			m.fail("%s: %v", s.name, err)
		}
		inputs = append(inputs, made...)
	}
	return inputs
}

// of makes the inputs of one source: its text, and dumps of what servers made of it.
func (m *maker) of(ctx context.Context, s source, number int) (inputs []input, err error) {
	raw := len(s.apps) == 0 && m.only.MatchString(s.name+"/"+packaged)
	wanted := slices.ContainsFunc(dialects, func(d dialect) bool { return m.only.MatchString(s.name + "/" + d.name) })
	if !raw && !wanted {
		return nil, nil
	}
	var text string
	if len(s.apps) == 0 {
		if text, err = m.pinned(ctx, s); err != nil {
			return nil, err
		}
	}
	if raw {
		in, err := m.write(s.name, packaged, s.own, []byte(oneTime+text))
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	if s.textOnly || !wanted {
		return inputs, nil
	}
	return append(inputs, m.dumps(ctx, s, text, dialectsOf(number))...), nil
}

// pinned is the text of a source, if it is the one of sums.txt.
func (m *maker) pinned(ctx context.Context, s source) (string, error) {
	text, err := s.text(ctx)
	if err != nil {
		return "", err
	}
	line := s.name + " " + checksum(text)
	m.sums = append(m.sums, line)
	if !*update && !strings.Contains(pinnedSums, line+"\n") {
		return "", fmt.Errorf("%s %s is not the text that sums.txt has: %s", s.kind, s.pkg, line)
	}
	return text, nil
}

// dumps makes perSource dumps of a source, of the first dialects whose servers take it.
func (m *maker) dumps(ctx context.Context, s source, text string, turn []dialect) (inputs []input) {
	refused := map[string]bool{} // servers that do not take the source
	made := 0
	for _, d := range turn {
		i := slices.IndexFunc(m.stands, func(at *stand) bool { return at.want == d.origin })
		if made == perSource || i < 0 || refused[d.origin] {
			continue
		}
		if !m.only.MatchString(s.name + "/" + d.name) {
			made++
			continue
		}
		in, err := m.dump(ctx, m.stands[i], s, d, text)
		switch {
		case errors.Is(err, errNotTaken):
			refused[d.origin] = true
		case err != nil:
			m.fail("%s/%s: %v", s.name, d.name, err)
		default:
			inputs = append(inputs, in)
			made++
		}
		if len(refused) == len(m.stands) {
			m.fail("%s: no server takes it: %v", s.name, err)
			break
		}
	}
	return inputs
}

// errNotTaken says that a server refuses a schema. Another one dumps it then.
var errNotTaken = errors.New("the server refuses the schema")

// dump has a server take a schema, fills it, and has it dumped.
func (m *maker) dump(ctx context.Context, at *stand, s source, d dialect, text string) (input, error) {
	database := sourceDatabase
	if s.own != "" {
		database = s.own
	}
	err := at.fresh(ctx, database)
	if s.own != "" {
		err = at.drop(ctx, database)
	}
	switch {
	case err != nil:
	case len(s.apps) > 0:
		err = s.migrate(ctx, at, database)
	case s.own != "":
		err = at.client(ctx, "", []byte(text))
	default:
		err = at.client(ctx, database, []byte(text))
	}
	if err != nil {
		return input{}, errors.Join(errNotTaken, err, at.drop(ctx, database))
	}
	err = fill(ctx, at, database)
	var out strings.Builder
	out.WriteString(d.head)
	for _, args := range d.runs {
		if err != nil {
			break
		}
		args = slices.Clone(args)
		args[len(args)-1] = database
		var b []byte
		b, err = at.dump(ctx, args...)
		out.Write(b)
	}
	out.WriteString(d.tail)
	if err := errors.Join(err, at.drop(ctx, database)); err != nil {
		return input{}, err
	}
	named := ""
	if d.named {
		named = database
	}
	return m.write(s.name, d.name, named, []byte(out.String()))
}

func (m *maker) write(source, dialect, named string, text []byte) (input, error) {
	in := input{name: source + "/" + dialect, dialect: dialect, named: named, size: len(text)}
	in.file = filepath.Join(m.dir, strings.ReplaceAll(in.name, "/", "--")+".sql")
	return in, os.WriteFile(in.file, text, 0o644)
}
