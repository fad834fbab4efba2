package binlog

import "slices"

// cut says what is left of the images of a rows event when it is inverted: of a row that is
// looked for the columns of the key, of one that is updated those that the update changed. The
// rest stays in the log, which is most of a wide row.
type cut struct {
	// columns are those of the images in the log.
	columns []column
	// keyed says that rows are looked for by their key.
	keyed bool
	// key and set are the places in the images, ascending, of the columns that are kept of a row
	// that is looked for and of one that is made; all says that the latter are all there are.
	key, set []int
	all      bool
	// before and after are the columns that are kept, as bitmaps over those of the table.
	before, after []byte

	places  []int // of a table's columns in the images, -1 for none; reused
	changed []bool
}

// begin prepares for the rows of r, a splittable event of a table with the given key.
func (c *cut) begin(m *TableMap, r Rows, key []int) error {
	c.columns = m.imaged(r)
	c.places = c.places[:0]
	n := 0
	for i := range m.columns {
		place := -1
		if r.Has(i) {
			place = n
			n++
		}
		c.places = append(c.places, place)
	}
	c.key, c.set, c.all = c.key[:0], c.set[:0], true
	for _, column := range key {
		if column >= 0 && column < len(c.places) && c.places[column] >= 0 {
			c.key = append(c.key, c.places[column])
		}
	}
	c.keyed = len(key) > 0 && len(c.key) == len(key)
	if c.keyed {
		slices.Sort(c.key)
	}
	if c.keyed && r.Kind == Update {
		if err := c.compare(m, r); err != nil {
			return err
		}
	}
	c.before = c.bitmap(c.before, func(place int) bool { return !c.keyed || slices.Contains(c.key, place) })
	c.after = c.bitmap(c.after, func(place int) bool { return c.all || c.changed[place] })
	return nil
}

// compare finds what the updates of r changed.
func (c *cut) compare(m *TableMap, r Rows) error {
	c.changed = append(c.changed[:0], make([]bool, len(c.columns))...)
	err := m.updates(r, c.columns, func(was, is []byte) bool {
		markDiffering(c.changed, was, is, c.columns)
		return slices.Contains(c.changed, false)
	})
	if err != nil {
		return err
	}
	for place, changed := range c.changed {
		if changed {
			c.set = append(c.set, place)
		}
	}
	c.all = len(c.set) == len(c.columns)
	return nil
}

// nothing reports that there is nothing to put back in an updated row.
func (c *cut) nothing() bool { return !c.all && len(c.set) == 0 }

func (c *cut) bitmap(b []byte, in func(place int) bool) []byte {
	b = append(b[:0], make([]byte, (len(c.places)+7)/8)...)
	for column, place := range c.places {
		if place >= 0 && in(place) {
			b[column>>3] |= 1 << (column & 7)
		}
	}
	return b
}

// appendFound appends what is left of the image of a row that is looked for.
func (c *cut) appendFound(b, image []byte) []byte {
	if !c.keyed {
		return append(b, image...)
	}
	return appendSome(b, image, c.columns, c.key)
}

// appendMade appends what is left of the image of a row as it is to be.
func (c *cut) appendMade(b, image []byte) []byte {
	if c.all {
		return append(b, image...)
	}
	return appendSome(b, image, c.columns, c.set)
}

// appendSome appends some columns of an image, by their places in it, ascending.
func appendSome(b, image []byte, columns []column, some []int) []byte {
	nulls := len(b)
	b = append(b, make([]byte, (len(some)+7)/8)...)
	from, next := (len(columns)+7)/8, 0
	for i, c := range columns {
		if next == len(some) {
			break
		}
		n := 0
		if !bit(image, i) {
			n = c.length(image[from:])
		}
		if i == some[next] {
			if bit(image, i) {
				b[nulls+next>>3] |= 1 << (next & 7)
			}
			b = append(b, image[from:from+n]...)
			next++
		}
		from += n
	}
	return b
}
