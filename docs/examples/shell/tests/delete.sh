sql "DELETE FROM items WHERE name = 'tea'"
test "$(sql "SELECT name FROM items")" = coffee
