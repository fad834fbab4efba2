package fit

import (
	"context"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// collate has the names of collations be such as the server knows.
func (f *Fit) collate(ctx context.Context, e *edits, meant []byte) error {
	if f.Collations == "" {
		return nil
	}
	w := dump.NewWalk(meant)
	for tok := w.Next(); !tok.End(); tok = w.Next() {
		if !namesCollation(tok) {
			continue
		}
		for w.Peek().Symbol('=') || w.Peek().Symbol(':') {
			w.Next()
		}
		name := w.Peek()
		if !name.IsName() || !isCollation(name.Name()) {
			continue
		}
		other, err := f.collation(ctx, name.Name())
		if err != nil {
			return err
		}
		if other != name.Name() {
			f.notes.add(ofCollations, strings.ToLower(name.Name())+", taken as "+other)
			*e = append(*e, edit{name.From, name.To, other})
		}
	}
	return nil
}

// namesCollation says that a collation may follow.
func namesCollation(tok dump.Token) bool {
	return tok.Is("collate") || tok.Is("collation_connection") || tok.Is("collation_server") || tok.Is("collation_database")
}

// collation returns what to have for one.
func (f *Fit) collation(ctx context.Context, name string) (string, error) {
	low := strings.ToLower(name)
	if other, ok := f.pairs[low]; ok {
		return other, nil
	}
	if other, ok := f.known[low]; ok {
		if other == "" {
			return name, nil
		}
		return other, nil
	}
	f.known[low] = ""
	for _, other := range append([]string{low}, Alike(low)...) {
		known, err := f.server.KnowsCollation(ctx, other)
		switch {
		case err != nil:
			return "", err
		case known && other == low, known && f.Collations != Auto:
			return name, nil
		case known:
			f.known[low] = other
			return other, nil
		}
	}
	return name, nil // the server will tell
}

// languages are what MySQL's collations say for a language, and what MariaDB's and the older ones of both say.
var languages = map[string]string{
	"bg": "bulgarian", "bs": "bosnian", "cs": "czech", "da": "danish", "de_pb": "german2", "eo": "esperanto", "es": "spanish",
	"es_trad": "spanish2", "et": "estonian", "gl": "galician", "hr": "croatian", "hu": "hungarian", "is": "icelandic", "ja": "japanese",
	"la": "roman", "lt": "lithuanian", "lv": "latvian", "mn": "mongolian", "nb": "norwegian", "nn": "norwegian", "pl": "polish", "ro": "romanian",
	"ru": "russian", "sk": "slovak", "sl": "slovenian", "sr_latn": "serbian", "sv": "swedish", "tr": "turkish", "vi": "vietnamese", "zh": "chinese",
}

// Alike returns the collations that come nearest to one, given in lower case, the nearest first. What counts, in this order:
// that values which are equal stay equal and others stay others (accents, case, spaces at the end), then the order of the
// language, then the version of Unicode.
// https://dev.mysql.com/doc/refman/9.0/en/charset-unicode-sets.html https://mariadb.com/kb/en/supported-character-sets-and-collations/
func Alike(name string) []string {
	charset, rest, ok := strings.Cut(name, "_")
	if charset == "uca1400" { // of any character set
		charset, rest, ok = "utf8mb4", name, true
	}
	if !ok {
		return nil
	}
	var list []string
	add := func(names ...string) {
		for _, one := range names {
			list = append(list, charset+"_"+one)
		}
	}
	switch {
	case strings.Contains(rest, "0900_"):
		ofMySQL(rest, add)
	case strings.HasPrefix(rest, "uca1400_"):
		ofMariaDB(strings.TrimPrefix(rest, "uca1400_"), add)
	case rest == "nopad_bin":
		add("0900_bin", "bin")
	case strings.HasSuffix(rest, "_nopad_ci"):
		add(strings.TrimSuffix(rest, "_nopad_ci")+"_ci", "unicode_520_ci")
	case strings.HasPrefix(rest, "general1400_"), rest == "general_mysql500_ci":
		add("general_ci")
	}
	for _, twins := range [][2]string{{"utf8", "utf8mb3"}, {"utf8mb3", "utf8"}} { // two names of one character set
		if charset == twins[0] {
			for _, one := range append([]string{name}, list...) {
				list = append(list, twins[1]+strings.TrimPrefix(one, charset))
			}
			break
		}
	}
	return list
}

// ofMySQL adds what is like one of MySQL's since 8.0: [LANGUAGE_]0900_ai_ci, which do not pad with spaces.
func ofMySQL(rest string, add func(...string)) {
	language, kind, _ := strings.Cut(rest, "0900_")
	word := languages[strings.TrimSuffix(language, "_")]
	if kind == "bin" {
		add("nopad_bin", "bin")
		return
	}
	if word != "" {
		add("uca1400_" + word + "_nopad_" + kind)
	}
	add("uca1400_nopad_" + kind)
	switch {
	case kind == "as_ci" || kind == "as_cs": // the older ones have none like it
		add("nopad_bin", "bin")
	case word != "":
		add(word + "_ci")
	}
	add("unicode_520_nopad_ci", "unicode_520_ci", "unicode_ci")
}

// ofMariaDB adds what is like one of MariaDB's since 10.10: [LANGUAGE_][nopad_]ai_ci.
func ofMariaDB(rest string, add func(...string)) {
	parts := strings.Split(rest, "_")
	if len(parts) < 2 {
		return
	}
	kind := strings.Join(parts[len(parts)-2:], "_")
	if kind == "ai_cs" { // MySQL has none
		kind = "as_cs"
	}
	for code, word := range languages {
		if word == parts[0] && code != "nn" {
			add(code + "_0900_" + kind)
			if kind == "ai_ci" {
				add(word + "_ci")
			}
		}
	}
	add("0900_" + kind)
	if kind == "as_ci" || kind == "as_cs" {
		add("bin")
	}
	add("unicode_520_ci", "unicode_ci")
}
