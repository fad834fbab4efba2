package template

import "fmt"

// cascading are the actions by which a foreign key changes rows of the child.
const cascading = "'CASCADE', 'SET NULL', 'SET DEFAULT'"

// foreignKeys reads the foreign keys between tables of a database.
func foreignKeys(r *reader) ([]ForeignKey, error) {
	s := r.shape
	var list []ForeignKey
	at := map[string]int{}
	err := r.each(func(row map[string]string) error {
		parent := s.Table(row["parent"])
		if parent == nil {
			return nil // it may be made later; without it nothing is changed
		}
		column := -1
		for i, c := range parent.Columns {
			if c.Name == row["column"] {
				column = i
			}
		}
		if column < 0 {
			return fmt.Errorf("foreign key %s refers to the column %s, which %s does not have", row["name"], row["column"], parent.Name)
		}
		id := row["child"] + "\x00" + row["name"]
		if _, known := at[id]; !known {
			at[id] = len(list)
			list = append(list, ForeignKey{Child: row["child"], Parent: parent.Name, OnDelete: row["on_delete"] == "1", OnUpdate: row["on_update"] == "1"})
		}
		list[at[id]].Columns = append(list[at[id]].Columns, column)
		return nil
	}, "SELECT c.table_name AS child, c.constraint_name AS name, c.referenced_table_name AS parent, k.referenced_column_name AS `column`, "+
		"c.delete_rule IN ("+cascading+") AS on_delete, c.update_rule IN ("+cascading+") AS on_update "+
		"FROM information_schema.referential_constraints c JOIN information_schema.key_column_usage k "+
		"ON k.constraint_schema = c.constraint_schema AND k.constraint_name = c.constraint_name AND k.table_name = c.table_name "+
		"WHERE c.constraint_schema = ? AND c.unique_constraint_schema = ? AND k.table_schema = ? AND k.referenced_column_name IS NOT NULL "+
		"ORDER BY child, name, k.ordinal_position", s.Name, s.Name, s.Name)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// following reads the tables that have foreign keys to other databases by which their own rows change.
func following(r *reader) ([]string, error) {
	var list []string
	err := r.each(func(row map[string]string) error {
		list = append(list, row["child"])
		return nil
	}, "SELECT DISTINCT table_name AS child FROM information_schema.referential_constraints WHERE constraint_schema = ? AND unique_constraint_schema <> ? "+
		"AND (delete_rule IN ("+cascading+") OR update_rule IN ("+cascading+")) ORDER BY child", r.shape.Name, r.shape.Name)
	return list, err
}
