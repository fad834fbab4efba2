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
		{"add partition", (*alteration).addPartition},
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
		{"drop partition", (*alteration).dropPartition},
		{"drop system versioning", (*alteration).element},
		{"drop [column] [if exists]", (*alteration).dropColumn},
		{"rename column", (*alteration).renameColumn},
		{"rename index|key", (*alteration).element},
		{"rename [to|as]", (*alteration).rename},
		{"convert to", (*alteration).element},
		{"convert partition", (*alteration).cut},
		{"convert table", (*alteration).partition},
		{"exchange partition", (*alteration).exchange},
		{"truncate partition", (*alteration).cut},
		{"coalesce partition", (*alteration).coalesce},
		{"disable|enable keys", nil},
		{"discard|import", refusal("tablespace", "DISCARD and IMPORT TABLESPACE take files that are in no log")},
		{"force", nil},
		{"order by", (*alteration).order},
		{"algorithm", (*alteration).way},
		{"lock", (*alteration).setting},
		{"with|without validation", nil},
		{"upgrade partitioning", nil},
		{"remove partitioning", nil},
		{"partition by", (*alteration).partitionBy},
		{"reorganize|analyze|check|optimize|rebuild|repair partition", (*alteration).partition},
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

// twice makes a fence of what MariaDB may have done when a base backup was made, logs behind it, and does once more when
// that is repeated: nothing but a base that has it as the log has it tells. All else that MariaDB does before it logs it
// is refused the second time, or gives the same, or is noted by the server itself.
func (a *alteration) twice(what string) {
	if !a.mysql {
		a.fence(Twice, what+": a base backup that is made meanwhile may have it already, and done twice it is something else")
	}
}

// addPartition judges ADD PARTITION: PARTITIONS n adds as many the second time, partitions with names are there.
func (a *alteration) addPartition() {
	a.eat("local|no_write_to_binlog")
	a.match("if not exists")
	if a.is("partitions") {
		a.twice("ADD PARTITION PARTITIONS")
	}
	a.partition()
}

func (a *alteration) coalesce() {
	a.twice("COALESCE PARTITION")
	a.partition()
}

func (a *alteration) exchange() {
	a.twice("EXCHANGE PARTITION")
	a.cut()
}

// cut judges what takes the rows of a partition away.
func (a *alteration) cut() {
	if a.historic {
		a.fence("versioning", "a partition by SYSTEM_TIME: its rows depend on the order of commits")
	}
	a.partition()
}

// dropPartition judges what MySQL does by copying the table, if the session has old_alter_table: rows of the partition then
// go to another one.
func (a *alteration) dropPartition() {
	a.drops = true
	a.cut()
}

// way moves over the algorithm that a statement names.
func (a *alteration) way() {
	a.eatSymbol('=')
	a.named = !a.is("default")
	a.next()
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
