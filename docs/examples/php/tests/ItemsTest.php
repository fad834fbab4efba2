<?php

final class ItemsTest extends DatabaseTestCase
{
    /** @dataProvider drinks */
    public function testAddsAnItem(string $name): void
    {
        $this->db->prepare('INSERT INTO items (name) VALUES (?)')->execute([$name]);
        $names = $this->db->query('SELECT name FROM items ORDER BY id')->fetchAll(PDO::FETCH_COLUMN);
        $this->assertSame(['tea', 'coffee', $name], $names);
    }

    public static function drinks(): array
    {
        return array_map(fn ($n) => ["cocoa $n"], range(1, 8));
    }
}
