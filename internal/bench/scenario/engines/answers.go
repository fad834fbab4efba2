package engines

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"slices"
	"strconv"
)

// answerDigest is a checksum of an answer, row by row.
type answerDigest struct {
	hash.Hash
	rows int
}

func newDigest() *answerDigest { return &answerDigest{Hash: sha256.New()} }

// add adds a row. Its values are taken as a server writes them.
func (d *answerDigest) add(values ...any) {
	for _, v := range values {
		text := fmt.Sprint(v)
		fmt.Fprintf(d, "%d %s,", len(text), text)
	}
	d.rows++
}

func (d *answerDigest) String() string { return fmt.Sprintf("%d rows %x", d.rows, d.Sum(nil)) }

// story is a row of the table that all engines get.
type story struct {
	id, grp, val int
	name         string
}

// storyRow is what engineServer.fill makes of a number.
func storyRow(id int) story {
	number := strconv.Itoa(id)
	sum := sha256.Sum256([]byte(number))
	return story{
		id, int(crc32.ChecksumIEEE([]byte(number)) % engineGroups), int(crc32.ChecksumIEEE([]byte("v"+number)) % 1_000_000),
		hex.EncodeToString(sum[:])[:20+id%41],
	}
}

// engineAnswers are those of all works on so many rows. A server that lost one, or another
// engine that all others agree with, has not computed them.
func engineAnswers(rows int) map[string]string {
	type group struct {
		count, sum, most int
		least            string
	}
	groups := make([]group, engineGroups)
	all := make([]story, rows)
	checksum := 0
	for i := range all {
		row := storyRow(i + 1)
		all[i] = row
		g := &groups[row.grp]
		if g.count == 0 || row.name < g.least {
			g.least = row.name
		}
		g.count, g.sum, g.most = g.count+1, g.sum+row.val, max(g.most, row.val)
		checksum += int(crc32.ChecksumIEEE(fmt.Appendf(nil, "%d|%d|%d|%s", row.id, row.grp, row.val, row.name)))
	}
	grouped, having, ordered, inserted, found := newDigest(), newDigest(), newDigest(), newDigest(), sha256.New()
	for grp, g := range groups {
		if g.count == 0 {
			continue
		}
		grouped.add(grp, g.count, g.sum)
		if g.most > engineMost {
			having.add(grp, g.most, g.least)
		}
	}
	for i := range engineLookups {
		row := all[lookedUp(i, rows)-1]
		fmt.Fprintln(found, row.val, row.name)
	}
	inserted.add(rows, checksum)
	slices.SortFunc(all, func(a, b story) int {
		if a.val != b.val {
			return a.val - b.val
		}
		return a.id - b.id
	})
	for _, row := range all[:min(engineLimit, rows)] {
		ordered.add(row.id, row.val, row.name)
	}
	return map[string]string{
		workGroup: grouped.String(), workOrder: ordered.String(), workHaving: having.String(), workInsert: inserted.String(),
		workLookUp: hex.EncodeToString(found.Sum(nil)),
	}
}
