<?php

abstract class DatabaseTestCase extends PHPUnit\Framework\TestCase
{
    protected PDO $db;

    protected function setUp(): void
    {
        $server = 'mysql:host=127.0.0.1;port=' . getenv('DB_PORT') . ';dbname=' . getenv('DB_NAME');
        $this->db = new PDO($server, getenv('MYSQL_USER'), getenv('MYSQL_PASSWORD'));
    }

    protected function tearDown(): void
    {
        unset($this->db); // ends the connection
    }
}
