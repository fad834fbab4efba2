USE shop;
-- rows
INSERT INTO customer (name) VALUES ('one'), ('two'), ('three ''quoted'' \\ 漢字 🙂');
UPDATE customer SET name = 'uno' WHERE name = 'one';
INSERT INTO orders (customer, total, placed) SELECT id, id * 10, NOW(6) FROM customer;
INSERT INTO line SELECT o.id, n.n FROM orders o JOIN (SELECT 2 n UNION ALL SELECT 3) n;
DELETE FROM customer WHERE name = 'two';
UPDATE customer SET id = id + 1000 WHERE name = 'uno';
REPLACE INTO customer (id, name) VALUES (1, 'replaced');
INSERT INTO customer (id, name) VALUES (3, 'x') ON DUPLICATE KEY UPDATE name = CONCAT(name, '!');
INSERT IGNORE INTO customer (id, name) VALUES (3, 'ignored'), (50, 'not ignored');
UPDATE orders o JOIN customer c ON c.id = o.customer SET o.total = o.total + 1, c.name = CONCAT(c.name, '.') WHERE c.id = 50 OR c.id = 1001;
DELETE o, l FROM orders o LEFT JOIN line l ON l.orders = o.id WHERE o.customer = 3;
INSERT INTO keyless VALUES (1, 'a'), (1, 'a'), (2, NULL), (NULL, NULL);
UPDATE keyless SET b = 'changed' WHERE a = 1 LIMIT 1;
DELETE FROM keyless WHERE a IS NULL;
INSERT INTO plain VALUES (1, 'a'), (2, 'b');
UPDATE plain SET s = 'c';
DELETE FROM plain WHERE id = 1;
INSERT INTO aria VALUES (1, 'a'), (2, 'b'); -- mariadb
DELETE FROM aria WHERE id = 1; -- mariadb
BEGIN;
INSERT INTO audit (said) VALUES ('in a transaction');
SAVEPOINT p;
UPDATE audit SET said = 'not to be';
ROLLBACK TO p;
INSERT INTO plain VALUES (3, 'within');
INSERT INTO audit (said) VALUES (UUID()), (RAND()), (CONNECTION_ID()), (CURRENT_USER()), (LAST_INSERT_ID());
COMMIT;
SET @v = 'from a variable';
INSERT INTO audit (said) VALUES (@v);
PREPARE s FROM 'INSERT INTO audit (said) VALUES (?)';
EXECUTE s USING @v;
SELECT id, name FROM customer INTO OUTFILE '@FILES@/customers';
CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(60)) ENGINE=InnoDB;
LOAD DATA INFILE '@FILES@/customers' INTO TABLE loaded CHARACTER SET utf8mb4 (id, name) SET id = id + 1;
-- the session
SET time_zone = '+05:30', timestamp = 1700000000.123456;
CREATE TABLE times (id INT PRIMARY KEY, t TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), d DATETIME DEFAULT CURRENT_TIMESTAMP, y YEAR, h TIME(3)) ENGINE=InnoDB;
INSERT INTO times (id, y, h) VALUES (1, 2024, '-12:34:56.789'), (2, 1901, '838:59:59');
SET timestamp = 1700000100;
UPDATE times SET y = 2025 WHERE id = 1;
SET timestamp = DEFAULT, time_zone = DEFAULT;
SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT';
CREATE TABLE "mo""de" (id INT PRIMARY KEY, s VARCHAR(20) DEFAULT 'a\b');
INSERT INTO "mo""de" VALUES (1, 'x\' || 'y');
CREATE VIEW modal AS SELECT id, s || '\' AS t FROM "mo""de";
CREATE PROCEDURE modal() INSERT INTO "mo""de" SELECT MAX(id) + 1, 'p' || '\' FROM "mo""de";
CALL modal();
CREATE EVENT modal ON SCHEDULE EVERY 1 HOUR DO INSERT INTO "mo""de" VALUES (99, 'a\b' || 'c');
SET sql_mode = 'NO_ENGINE_SUBSTITUTION';
CREATE TABLE loose (id INT PRIMARY KEY, d DATE, n TINYINT, s CHAR(3)) ENGINE=InnoDB;
INSERT INTO loose VALUES (1, '0000-00-00', 1000, 'toolong'), (2, '2024-02-31', -1000, '');
SET sql_mode = DEFAULT;
SET NAMES latin1;
CREATE TABLE latin (id INT PRIMARY KEY, s VARCHAR(20)) CHARACTER SET latin1;
INSERT INTO latin VALUES (1, 'Ã¤Ã¶');
CREATE PROCEDURE latin() SELECT 'Ã¤';
SET NAMES utf8mb4;
SET foreign_key_checks = 0;
INSERT INTO orders (id, customer, total) VALUES (900, 999, 1);
CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES later (id)) ENGINE=InnoDB;
CREATE TABLE later (id INT PRIMARY KEY) ENGINE=InnoDB;
INSERT INTO child VALUES (1, 1);
SET foreign_key_checks = 1;
SET unique_checks = 0;
CREATE TABLE filled (id INT PRIMARY KEY, u INT, UNIQUE KEY (u)) ENGINE=InnoDB;
INSERT INTO filled SELECT id, id FROM customer;
INSERT INTO filled VALUES (5000, 5000);
SET foreign_key_checks = 0;
CREATE TABLE bulk (id INT PRIMARY KEY, u INT, KEY (u)) ENGINE=InnoDB;
BEGIN;
INSERT INTO bulk SELECT id, id FROM customer;
INSERT INTO bulk VALUES (5000, 1);
UPDATE bulk SET u = u + 1;
COMMIT;
SET unique_checks = 1, foreign_key_checks = 1;
SET auto_increment_increment = 10, auto_increment_offset = 7;
INSERT INTO audit (said) VALUES ('by ten'), ('by ten');
SET auto_increment_increment = 1, auto_increment_offset = 1;
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
INSERT INTO audit VALUES (0, 'zero');
SET sql_mode = DEFAULT;
-- types
CREATE TABLE types (id INT PRIMARY KEY AUTO_INCREMENT, b BIT(11), e ENUM('a','b','ß'), s SET('x','y','z'), bl LONGBLOB, t MEDIUMTEXT, j JSON, g GEOMETRY, d DECIMAL(65,30), f FLOAT, db DOUBLE, bin BINARY(5), vb VARBINARY(300), u BIGINT UNSIGNED, c CHAR(10) COLLATE utf8mb4_bin) ENGINE=InnoDB;
INSERT INTO types (b, e, s, bl, t, j, g, d, f, db, bin, vb, u, c) VALUES (b'10101010101', 'ß', 'x,z', REPEAT(x'00FF', 40000), REPEAT('漢', 1000), '{"a": [1, 2.5, "x"], "b": {"c": null}}', ST_GeomFromText('POLYGON((0 0,0 1,1 1,0 0))'), 12345678901234567890.123456789, 1.1, -2.2e-300, 'ab', x'0001', 18446744073709551615, 'pad');
INSERT INTO types (j) VALUES (NULL), ('[]'), ('"s"');
UPDATE types SET j = JSON_SET(j, '$.b.c', 42), bl = CONCAT(bl, 'end') WHERE id = 1;
UPDATE types SET j = JSON_REMOVE(j, '$.a[1]') WHERE id = 1;
CREATE TABLE made (id INT PRIMARY KEY, a INT, v INT GENERATED ALWAYS AS (a * 2) VIRTUAL, st INT GENERATED ALWAYS AS (a + 1) STORED, CHECK (a < 1000), KEY (v), UNIQUE KEY (st)) ENGINE=InnoDB;
INSERT INTO made (id, a) VALUES (1, 1), (2, 2);
UPDATE made SET a = 5 WHERE id = 1;
CREATE TABLE texts (id INT PRIMARY KEY AUTO_INCREMENT, t TEXT, FULLTEXT KEY (t)) ENGINE=InnoDB;
INSERT INTO texts (t) VALUES ('the quick brown fox'), ('lazy dog');
UPDATE texts SET t = 'the slow brown fox' WHERE id = 1;
DELETE FROM texts WHERE id = 2;
INSERT INTO texts (t) VALUES ('another fox'), ('another dog');
UPDATE texts SET t = CONCAT(t, ' again');
CREATE TABLE places (id INT PRIMARY KEY, p POINT NOT NULL, SPATIAL KEY (p)) ENGINE=InnoDB;
INSERT INTO places VALUES (1, POINT(1, 2)), (2, POINT(3, 4));
DELETE FROM places WHERE id = 1;
CREATE TABLE many (a INT, b INT, c INT, PRIMARY KEY (b, a)) ENGINE=InnoDB PARTITION BY RANGE (b) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
INSERT INTO many VALUES (1, 1, 1), (2, 15, 2);
ALTER TABLE many ADD PARTITION (PARTITION p2 VALUES LESS THAN (30));
INSERT INTO many VALUES (3, 25, 3);
ALTER TABLE many DROP PARTITION p0;
UPDATE many SET b = 5 + b WHERE a = 2;
ALTER TABLE many TRUNCATE PARTITION p1;
-- DDL
CREATE TABLE copied LIKE types;
CREATE TABLE selected SELECT id, name FROM customer;
CREATE TABLE selected_keyed (PRIMARY KEY (id)) ENGINE=InnoDB SELECT id, name FROM customer;
ALTER TABLE selected ADD COLUMN later INT DEFAULT 7 FIRST, ADD INDEX (name);
UPDATE selected SET later = 8 WHERE id > 10;
ALTER TABLE selected DROP COLUMN later;
ALTER TABLE selected MODIFY name VARCHAR(200) CHARACTER SET utf16;
CREATE INDEX i ON selected (id);
RENAME TABLE selected_keyed TO renamed, copied TO selected_keyed;
CREATE TABLE emptied (id INT PRIMARY KEY AUTO_INCREMENT) ENGINE=InnoDB;
INSERT INTO emptied VALUES (), (), ();
TRUNCATE TABLE emptied;
INSERT INTO emptied VALUES ();
CREATE TABLE dropped (id INT);
DROP TABLE dropped;
DROP TABLE IF EXISTS never_there;
CREATE TABLE IF NOT EXISTS customer (other INT);
ALTER TABLE customer AUTO_INCREMENT = 5000;
ALTER TABLE keyless ENGINE=InnoDB, COMMENT 'again';
OPTIMIZE TABLE keyless;
ANALYZE TABLE customer;
CREATE DATABASE other COLLATE utf8mb4_bin;
CREATE TABLE other.t (id INT PRIMARY KEY, s VARCHAR(10));
INSERT INTO other.t VALUES (1, 'x');
ALTER DATABASE other CHARACTER SET latin1;
CREATE DATABASE passing;
CREATE TABLE passing.t (id INT);
CREATE EVENT passing.e ON SCHEDULE EVERY 1 DAY DO SELECT 1;
DROP DATABASE passing;
CREATE TEMPORARY TABLE temp (id INT PRIMARY KEY, s VARCHAR(10));
INSERT INTO temp VALUES (1, 'temp'), (2, 'temp');
INSERT INTO audit (said) SELECT s FROM temp;
CREATE TABLE from_temp SELECT * FROM temp;
UPDATE audit a JOIN temp t ON t.id = 1 SET a.said = CONCAT(a.said, ' of ', t.s) WHERE a.said = 'temp';
DROP TEMPORARY TABLE temp;
LOCK TABLES audit WRITE;
INSERT INTO audit (said) VALUES ('locked');
UNLOCK TABLES;
-- programs
CREATE VIEW v AS SELECT c.id, c.name, COUNT(o.id) n FROM customer c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.id, c.name;
CREATE OR REPLACE DEFINER = 'nobody'@'%' SQL SECURITY INVOKER VIEW w AS SELECT * FROM v WHERE n > 0;
CREATE FUNCTION doubled(n INT) RETURNS INT DETERMINISTIC RETURN n * 2;
delimiter //
CREATE DEFINER = 'nobody'@'localhost' PROCEDURE several(IN n INT) SQL SECURITY INVOKER
BEGIN
  DECLARE i INT DEFAULT 0;
  WHILE i < n DO
    INSERT INTO audit (said) VALUES (CONCAT('several ', doubled(i)));
    SET i = i + 1;
  END WHILE;
END//
CREATE TRIGGER before_audit BEFORE INSERT ON audit FOR EACH ROW BEGIN SET NEW.said = CONCAT('[', NEW.said, ']'); END//
delimiter ;
CALL several(5);
INSERT INTO audit (said) VALUES (doubled(21));
DROP TRIGGER gone;
CREATE FUNCTION passing(n INT) RETURNS INT DETERMINISTIC RETURN n;
DROP FUNCTION passing;
-- events
CREATE DEFINER = 'nobody'@'%' EVENT on_event ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01' ON COMPLETION PRESERVE COMMENT 'DISABLE' DO INSERT INTO audit (said) VALUES ('event');
CREATE EVENT off_event ON SCHEDULE EVERY 2 DAY ON COMPLETION NOT PRESERVE DISABLE DO DELETE FROM audit;
CREATE EVENT once ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 1 SECOND ON COMPLETION PRESERVE DO DELETE FROM audit;
CREATE EVENT soon ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 1 DAY DO DELETE FROM audit;
CREATE EVENT IF NOT EXISTS old_off ON SCHEDULE EVERY 5 DAY DO DELETE FROM audit;
CREATE EVENT altered ON SCHEDULE EVERY 1 DAY DO DELETE FROM audit;
ALTER EVENT altered DISABLE;
ALTER EVENT old_on ON SCHEDULE EVERY 3 DAY;
ALTER EVENT old_off COMMENT 'commented';
ALTER EVENT old_renamed RENAME TO new_name;
CREATE EVENT slave_event ON SCHEDULE EVERY 1 DAY DISABLE ON SLAVE DO DELETE FROM audit; -- mariadb
CREATE EVENT slave_event ON SCHEDULE EVERY 1 DAY DISABLE ON REPLICA DO DELETE FROM audit; -- mysql
SET time_zone = '+03:00';
CREATE EVENT zoned ON SCHEDULE EVERY 1 DAY STARTS '2031-01-01 12:00:00' DO DELETE FROM audit;
SET time_zone = DEFAULT;
CREATE EVENT passing ON SCHEDULE EVERY 1 DAY DO DELETE FROM audit;
DROP EVENT passing;
-- accounts
CREATE USER alice@localhost IDENTIFIED BY 'Alice-1234', bob@'%' IDENTIFIED BY 'Bob-12345678';
GRANT SELECT, INSERT ON shop.* TO alice@localhost;
GRANT UPDATE (name) ON shop.customer TO alice@localhost;
GRANT ALL ON other.* TO bob@'%' WITH GRANT OPTION;
GRANT EXECUTE ON PROCEDURE shop.several TO bob@'%';
REVOKE INSERT ON shop.* FROM alice@localhost;
ALTER USER bob@'%' IDENTIFIED BY 'Bob-87654321' PASSWORD EXPIRE NEVER;
SET PASSWORD FOR alice@localhost = PASSWORD('Alice-4321'); -- mariadb
SET PASSWORD FOR alice@localhost = 'Alice-4321'; -- mysql
CREATE ROLE clerk;
GRANT SELECT ON shop.* TO clerk;
GRANT clerk TO alice@localhost;
SET DEFAULT ROLE clerk FOR alice@localhost; -- mariadb
SET DEFAULT ROLE clerk TO alice@localhost; -- mysql
CREATE USER passing@localhost;
RENAME USER passing@localhost TO staying@localhost;
ALTER USER staying@localhost ACCOUNT LOCK;
CREATE USER dropped@localhost;
DROP USER dropped@localhost;
-- of one flavour
CREATE SEQUENCE seq START WITH 10 INCREMENT BY 5; -- mariadb
CREATE TABLE from_seq (id INT PRIMARY KEY DEFAULT NEXTVAL(seq), s INT); -- mariadb
INSERT INTO from_seq (s) VALUES (1), (2); -- mariadb
SELECT NEXTVAL(seq); -- mariadb
SELECT SETVAL(seq, 500); -- mariadb
INSERT INTO from_seq (s) VALUES (3); -- mariadb
ALTER SEQUENCE seq CACHE 5; -- mariadb
CREATE TABLE versioned (id INT PRIMARY KEY, s INT) WITH SYSTEM VERSIONING; -- mariadb
INSERT INTO versioned VALUES (1, 1), (2, 2); -- mariadb
UPDATE versioned SET s = 3 WHERE id = 1; -- mariadb
UPDATE versioned SET s = 4 WHERE id = 1; -- mariadb
DELETE FROM versioned WHERE id = 2; -- mariadb
CREATE TABLE compressed (id INT PRIMARY KEY, s TEXT COMPRESSED, h INT INVISIBLE DEFAULT 3, u UUID, i INET6); -- mariadb
INSERT INTO compressed (id, s, u, i) VALUES (1, REPEAT('compress ', 1000), UUID(), '::1'); -- mariadb
UPDATE compressed SET s = CONCAT(s, 'more'); -- mariadb
CREATE OR REPLACE TABLE replaced (id INT); -- mariadb
INSERT INTO replaced VALUES (1) RETURNING id; -- mariadb
CREATE OR REPLACE TABLE replaced (id INT, s INT); -- mariadb
CREATE OR REPLACE EVENT altered ON SCHEDULE EVERY 9 DAY DO DELETE FROM audit; -- mariadb
CREATE TABLE hidden_key (a INT INVISIBLE DEFAULT 4, j JSON, KEY mv ((CAST(j->'$.n' AS UNSIGNED ARRAY))), KEY fn ((a + 1)), KEY ds (a DESC)); -- mysql
INSERT INTO hidden_key (j) VALUES ('{"n": [1, 2, 3]}'), ('{"n": [4]}'); -- mysql
UPDATE hidden_key SET j = JSON_ARRAY_APPEND(j, '$.n', 9) WHERE j->'$.n[0]' = 4; -- mysql
ALTER TABLE hidden_key ALTER INDEX ds INVISIBLE; -- mysql
CREATE SPATIAL REFERENCE SYSTEM 990001 NAME 'ours' DEFINITION 'GEOGCS["ours",DATUM["ours",SPHEROID["s",6378137,298.257223563]],PRIMEM["G",0],UNIT["degree",0.017453292519943278],AXIS["Lat",NORTH],AXIS["Lon",EAST]]'; -- mysql
CREATE TABLE vectors (id INT PRIMARY KEY, v VECTOR(3)); -- mysql
INSERT INTO vectors VALUES (1, TO_VECTOR('[1,2,3]')); -- mysql
CREATE TABLE zipped (id INT PRIMARY KEY, s TEXT) ROW_FORMAT=COMPRESSED; -- mysql
INSERT INTO zipped VALUES (1, REPEAT('zip', 500)); -- mysql
ALTER USER bob@'%' ATTRIBUTE '{"a": 1}'; -- mysql
GRANT BACKUP_ADMIN ON *.* TO bob@'%'; -- mysql
XA START 'x', 'b', 7;
INSERT INTO audit (said) VALUES ('prepared');
XA END 'x', 'b', 7;
XA PREPARE 'x', 'b', 7;
XA COMMIT 'x', 'b', 7;
XA START 'y';
INSERT INTO audit (said) VALUES ('one phase');
XA END 'y';
XA COMMIT 'y' ONE PHASE;
XA START 'z';
INSERT INTO audit (id, said) VALUES (77777, 'rolled back');
XA END 'z';
XA PREPARE 'z';
XA ROLLBACK 'z';
INSERT INTO audit (id, said) VALUES (80000, 'last');
