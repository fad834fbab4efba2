sql "INSERT INTO items (name) VALUES ('cocoa')"
test "$(sql "SELECT COUNT(*) FROM items")" = 3
