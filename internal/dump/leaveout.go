package dump

import "bytes"

// LeaveOut takes the assignments to some variables, given in lower case, out of a SET statement. It
// returns what is left, nil for nothing, and the variables that it found. A text of another kind is
// returned as it is, and so is one with comments that sets others as well.
func LeaveOut(text []byte, variables map[string]bool) (rest []byte, found []string) {
	t := tokens{b: text}
	if !t.next().is("set") {
		return text, nil
	}
	if ahead := t; ahead.next().is("statement") { // MariaDB: SET STATEMENT ... FOR any other
		return text, nil
	}
	var kept [][]byte
	for last := false; !last; {
		from := len(text) - len(t.b)
		left, ok := (*session)(nil).target(&t)
		if !ok || bytes.Contains(text[from:len(text)-len(t.b)], []byte(",")) { // SET NAMES x, variable = ...
			return text, nil
		}
		plain := plainValue(t)
		last = (&Assignment{}).value(&t)
		to := len(text) - len(t.b)
		if !last {
			to-- // the comma
		}
		if variables[left.name] && !left.user {
			if !plain { // a statement may stand behind it
				return text, nil
			}
			found = append(found, left.name)
		} else {
			kept = append(kept, bytes.TrimSpace(text[from:to]))
		}
	}
	switch {
	case found == nil:
		return text, nil
	case kept == nil:
		return nil, found
	case bytes.Contains(text, []byte("/*")), bytes.Contains(text, []byte("--")), bytes.Contains(text, []byte("#")):
		return text, nil
	}
	return append([]byte("SET "), bytes.Join(kept, []byte(", "))...), found
}
