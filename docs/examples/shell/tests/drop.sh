sql "DROP TABLE items"
test -z "$(sql "SHOW TABLES")"
