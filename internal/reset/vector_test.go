package reset_test

import (
	"slices"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// vectors are tables with a vector index, small and as large as those that are cloned by their files.
const vectors = `
CREATE TABLE small (id int AUTO_INCREMENT PRIMARY KEY, body text, v vector(3) NOT NULL, VECTOR INDEX (v) M=8 DISTANCE=cosine);
INSERT INTO small (body, v) VALUES ('a', VEC_FromText('[1,0,0]')), ('b', VEC_FromText('[0,1,0]')), ('c', VEC_FromText('[0,0,1]'));
CREATE TABLE large (id int AUTO_INCREMENT PRIMARY KEY, v vector(3) NOT NULL, VECTOR INDEX (v));
INSERT INTO large (v) SELECT VEC_FromText(CONCAT('[', seq, ',', seq % 7, ',', seq % 31, ']')) FROM seq_1_to_1000;
CREATE TABLE plain (id int PRIMARY KEY, v vector(3) NOT NULL);
INSERT INTO plain SELECT id, v FROM small;
`

// TestVectorIndex clones tables with a vector index, and puts them back after all that can be done
// to them: searches find what they find in the template.
func TestVectorIndex(t *testing.T) {
	servertest.EachFrom(t, "mariadb:11.7", func(t *testing.T, want string) {
		l := newLab(t, want, "farm", vectors)
		if err := template.Analyze(t.Context(), l.session.Conn, "farm"); err != nil {
			t.Fatal(err)
		}
		var err error
		if l.shape, err = template.Read(t.Context(), l.session.Conn, "farm"); err != nil {
			t.Fatal(err)
		}
		l.shape.Files = &template.Files{DataDir: l.srv.DataDir(), UID: l.srv.Account.UID, GID: l.srv.Account.GID}
		for _, name := range []string{"small", "large"} { // its index has a file of its own
			if l.shape.ByFile(l.shape.Table(name)) {
				t.Errorf("%s would be cloned by its file", name)
			}
		}
		le := l.lease("farm_1")
		found := func(database string) []string {
			t.Helper()
			var list []string
			for _, query := range []string{
				"SELECT GROUP_CONCAT(id) FROM (SELECT id FROM " + database + ".small ORDER BY VEC_DISTANCE_COSINE(v, VEC_FromText('[0,1,0.2]')) LIMIT 3) f",
				"SELECT GROUP_CONCAT(id) FROM (SELECT id FROM " + database + ".large ORDER BY VEC_DISTANCE_EUCLIDEAN(v, VEC_FromText('[500.4,3,4]')) LIMIT 4) f",
				"SELECT CONCAT(COUNT(*), ' ', MAX(id)) FROM " + database + ".large",
			} {
				var ids string
				if err := l.session.Conn.QueryRowContext(t.Context(), query).Scan(&ids); err != nil {
					t.Fatal(err)
				}
				list = append(list, ids)
			}
			return list
		}
		fresh := found("farm")
		if got := found("farm_1"); !slices.Equal(got, fresh) {
			t.Errorf("a clone finds %s, the template %s", got, fresh)
		}
		for _, do := range []string{
			"INSERT INTO small (v) VALUES (VEC_FromText('[0,1,0.2]'))\nINSERT INTO large (v) VALUES (VEC_FromText('[500,3,4]'))",
			"UPDATE small SET v = VEC_FromText('[0,1,0.2]') WHERE id = 3\nUPDATE large SET v = VEC_FromText('[500.4,3,4]') WHERE id < 9",
			"DELETE FROM small WHERE id = 2\nDELETE FROM large WHERE id BETWEEN 495 AND 505",
			"DELETE FROM small\nDELETE FROM large",
			"TRUNCATE small\nTRUNCATE large",
			"ALTER TABLE small DROP INDEX v\nALTER TABLE large ADD COLUMN more int",
			"DROP TABLE small, large",
		} {
			le.do(do)
			res := le.reset()
			if res.Way != reset.Undo && res.Way != reset.Refill {
				t.Errorf("%s: %s (%s)", do, res.Way, res.Why)
			}
			if got := found("farm_1"); !slices.Equal(got, fresh) {
				t.Errorf("%s: %s, then it finds %s, the template %s", do, res.Way, got, fresh)
			}
			if res := le.reset(); res.Way != reset.Noop {
				t.Errorf("%s: a second reset found something: %s (%s)", do, res.Way, res.Why)
			}
		}
	})
}
