package corpus

import (
	"errors"
	"maps"
	"regexp"
	"strings"

	"github.com/ramaria-db/ramaria/tests/picture"
)

// differ is the difference of two pictures as an error.
func differ(got, want picture.Picture) error {
	if d := picture.Differences(got, want); d != "" {
		return errors.New("differs:\n" + brief(d))
	}
	return nil
}

// admin is the account that makes images.
const admin = "ramaria_admin"

// byAdmin is differ where what has no definer may have another one: that is told apart, so that it hides nothing else.
func byAdmin(got, want picture.Picture) error {
	other := false
	mended := picture.Picture{}
	for of, text := range got {
		mended[of] = strings.ReplaceAll(text, admin, "app")
		other = other || mended[of] != text
	}
	if err := differ(mended, want); err != nil || !other {
		return err
	}
	return errors.New("differs in definers alone: " + admin + " instead of app")
}

// restarted is a picture as it is after a restart of the server: MEMORY tables have no rows, which
// docs/dumps.md says of --from.
func restarted(p picture.Picture) picture.Picture {
	p = maps.Clone(p)
	for of, text := range p {
		name, is := strings.CutPrefix(of, "table ")
		if !is || !strings.Contains(text, "ENGINE=MEMORY") {
			continue
		}
		p["rows "+name] = ""
		if p["shown counter "+name] != "" {
			p["shown counter "+name] = "\n"
		}
		p["counter"] = regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(name)+` \d+$`).ReplaceAllString(p["counter"], name+" 1")
	}
	return p
}

const gotMark, wantMark = "  got  ", "  want "

// brief leaves out of two lines, one that is got and one that is wanted, the words that both begin or
// end with, but for the names in front.
func brief(text string) string {
	lines := strings.Split(text, "\n")
	for i := 0; i+1 < len(lines); i++ {
		a, b := lines[i], lines[i+1]
		if strings.HasPrefix(a, gotMark) && strings.HasPrefix(b, wantMark) || strings.HasPrefix(a, wantMark) && strings.HasPrefix(b, gotMark) {
			lines[i], lines[i+1] = shortened(a, b)
			i++
		}
	}
	return strings.Join(lines, "\n")
}

// namesInFront are the words that stay in front, and wordsAround those beside what differs.
const namesInFront, wordsAround = 4, 3

func shortened(a, b string) (string, string) {
	x, y := strings.Split(a[len(gotMark):], " "), strings.Split(b[len(wantMark):], " ")
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	end := 0
	for end < min(len(x), len(y))-same && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	cut := func(mark string, words []string) string {
		from, to := same-wordsAround, len(words)-end+wordsAround
		if from <= namesInFront {
			return mark + strings.Join(words[:min(to, len(words))], " ")
		}
		return mark + strings.Join(words[:namesInFront], " ") + " ... " + strings.Join(words[from:min(to, len(words))], " ")
	}
	return cut(a[:len(gotMark)], x), cut(b[:len(wantMark)], y)
}
