<?php

final class NamesTest extends DatabaseTestCase
{
    public function testRenames(): void
    {
        $this->db->exec("UPDATE items SET name = 'chai' WHERE name = 'tea'");
        $this->assertSame(['chai', 'coffee'], $this->names());
    }

    public function testAltersTheTable(): void
    {
        $this->db->exec('ALTER TABLE items ADD COLUMN price INT');
        $this->assertSame(['tea', 'coffee'], $this->names());
        $this->assertSame(3, $this->db->query('SELECT * FROM items')->columnCount());
    }

    public function testDeletes(): void
    {
        $this->db->exec("DELETE FROM items WHERE name = 'coffee'");
        $this->assertSame(['tea'], $this->names());
    }

    private function names(): array
    {
        return $this->db->query('SELECT name FROM items ORDER BY id')->fetchAll(PDO::FETCH_COLUMN);
    }
}
