<?php
// The tests as bench.sh runs them: each says what it finds. With ISOLATION=reload they do without the door, in one
// database into which shop.sql is loaded before each of them.

abstract class DatabaseTestCase extends PHPUnit\Framework\TestCase
{
    protected PDO $db;

    protected function setUp(): void
    {
        $plain = getenv('ISOLATION') === 'reload';
        if (!$plain && getenv('ISOLATION')) {
            throw new InvalidArgumentException('ISOLATION is reload, or not set');
        }
        [$port, $name] = $plain ? ['MYSQL_TCP_PORT', 'MYSQL_DATABASE'] : ['DB_PORT', 'DB_NAME'];
        $server = 'mysql:host=127.0.0.1;port=' . getenv($port) . ';dbname=' . getenv($name);
        $this->db = new PDO($server, getenv('MYSQL_USER'), getenv('MYSQL_PASSWORD'));
        if ($plain) {
            $this->reload(getenv('MYSQL_DATABASE'));
        }
        if ($leaks = getenv('RAMARIA_LEAKS')) {
            $found = $this->db->query(file_get_contents('../look.sql'))->fetchColumn();
            file_put_contents($leaks, "$found\n", FILE_APPEND);
        }
    }

    protected function tearDown(): void
    {
        unset($this->db);
    }

    private function reload(string $name): void
    {
        $dump = explode(";\n", rtrim(file_get_contents('../shop.sql'), ";\n"));
        foreach (["DROP DATABASE $name", "CREATE DATABASE $name", "USE $name", ...$dump] as $statement) {
            $this->db->exec($statement);
        }
    }
}
