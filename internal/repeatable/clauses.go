package repeatable

// clause is a part of ALTER TABLE.
type clause struct {
	pattern string
	do      func(*alteration)
}

// clauses are the parts of ALTER TABLE that are understood, the longer patterns first.
var clauses []clause

func init() {
	clauses = []clause{
		{"add system versioning", refusal("versioning", "ADD SYSTEM VERSIONING: existing rows get the time of the statement")},
		{"with system versioning", refusal("versioning", "WITH SYSTEM VERSIONING: existing rows get the time of the statement")},
		{"add period for system_time", refusal("versioning", "ADD PERIOD FOR SYSTEM_TIME: existing rows get the time of the statement")},
		{"add period for", (*alteration).element},
		{"add partition", (*alteration).partition},
		{"add primary key", (*alteration).addPrimary},
		{"add constraint", (*alteration).addConstraint},
		{"add foreign key", (*alteration).element},
		{"add unique|fulltext|spatial [index|key]", (*alteration).index},
		{"add vector index|key", (*alteration).index},
		{"add index|key", (*alteration).index},
		{"add check", (*alteration).checks},
		{"add [column]", (*alteration).addColumn},
		{"alter", (*alteration).element},
		{"change [column]", (*alteration).changeColumn},
		{"modify [column] [if exists]", (*alteration).modifyColumn},
		{"drop primary key", (*alteration).dropPrimary},
		{"drop index|key|constraint [if exists]", (*alteration).dropKey},
		{"drop foreign key", (*alteration).element},
		{"drop check", (*alteration).element},
		{"drop period for", (*alteration).element},
		{"drop partition", (*alteration).cut},
		{"drop system versioning", (*alteration).element},
		{"drop [column] [if exists]", (*alteration).dropColumn},
		{"rename column", (*alteration).renameColumn},
		{"rename index|key", (*alteration).element},
		{"rename [to|as]", (*alteration).rename},
		{"convert to", (*alteration).element},
		{"convert partition", (*alteration).cut},
		{"convert table", (*alteration).partition},
		{"truncate|exchange partition", (*alteration).cut},
		{"disable|enable keys", nil},
		{"discard|import", refusal("tablespace", "DISCARD and IMPORT TABLESPACE take files that are in no log")},
		{"force", nil},
		{"order by", (*alteration).order},
		{"algorithm|lock", (*alteration).setting},
		{"with|without validation", nil},
		{"upgrade partitioning", nil},
		{"remove partitioning", nil},
		{"partition by", (*alteration).partitionBy},
		{"coalesce|reorganize|analyze|check|optimize|rebuild|repair partition", (*alteration).partition},
		{"secondary_load|secondary_unload", (*alteration).partition},
	}
}

func refusal(kind, why string) func(*alteration) {
	return func(a *alteration) {
		a.fence(kind, why)
		a.primary.perhaps = true // what else the statement does is not read
		a.skip()
	}
}

// clause judges the next part.
func (a *alteration) clause() {
	for _, c := range clauses {
		// ADD and DROP of a column whose name is spelled as a keyword must quote it.
		if a.match(c.pattern) {
			if c.do != nil {
				c.do(a)
			}
			return
		}
	}
	if !a.option(&a.engine) {
		a.unknown()
	}
}

func (a *alteration) checks() { a.check() }

func (a *alteration) element() { a.skipElement() }

// partition judges the work on partitions, which stands alone.
func (a *alteration) partition() {
	a.partitions("")
}

// cut judges what takes the rows of a partition away.
func (a *alteration) cut() {
	if a.historic {
		a.fence("versioning", "a partition by SYSTEM_TIME: its rows depend on the order of commits")
	}
	a.partition()
}

func (a *alteration) partitionBy() { a.partitions("") }

func (a *alteration) setting() {
	a.eatSymbol('=')
	a.next()
}

// order moves over ORDER BY, whose list has commas.
func (a *alteration) order() {
	a.sorts = true
	for {
		if _, ok := a.statement.table(""); !ok {
			a.unknown()
			return
		}
		a.eat("asc|desc")
		begin := a.parser
		if !a.eatSymbol(',') || a.is("add|alter|change|modify|drop|rename|convert|order|force|algorithm|lock|engine") {
			a.parser = begin
			return
		}
	}
}
