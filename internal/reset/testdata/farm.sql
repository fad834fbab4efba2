-- A database for the cases. Lines that end with a flavour are for it alone.
SET NAMES utf8mb4;
SET sql_mode = '';
CREATE TABLE plain (id int PRIMARY KEY, name varchar(40)) ENGINE=InnoDB;
INSERT INTO plain VALUES (1, 'a'), (2, 'b'), (3, 'Łoś');
CREATE TABLE keeper (
  id int unsigned NOT NULL AUTO_INCREMENT, name varchar(60) NOT NULL, wage decimal(10,2) NOT NULL DEFAULT 0.00,
  year decimal(12,2) GENERATED ALWAYS AS (wage * 12) VIRTUAL, initial char(1) GENERATED ALWAYS AS (left(name, 1)) STORED,
  PRIMARY KEY (id), UNIQUE KEY name (name), KEY initial (initial)
) ENGINE=InnoDB AUTO_INCREMENT=4711;
INSERT INTO keeper (id, name, wage) VALUES (1, 'Löwe', 10.5), (2, 'Ben', 20), (3, 'O''Hare', 30);
CREATE TABLE cage (id int PRIMARY KEY, size int) ENGINE=InnoDB;
INSERT INTO cage VALUES (1, 10), (2, 20);
CREATE TABLE animal (
  id bigint NOT NULL AUTO_INCREMENT, keeper int unsigned DEFAULT NULL, house int DEFAULT NULL, name varchar(100) NOT NULL DEFAULT 'anon',
  born datetime(6) DEFAULT NULL, seen timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
  weight double DEFAULT NULL, cage point NOT NULL, facts json DEFAULT NULL,
  PRIMARY KEY (id), KEY born (born), FULLTEXT KEY words (name), SPATIAL KEY cage (cage),
  CONSTRAINT kept_by FOREIGN KEY (keeper) REFERENCES keeper (id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT lives_in FOREIGN KEY (house) REFERENCES cage (id) ON DELETE SET NULL
) ENGINE=InnoDB;
INSERT INTO animal (keeper, house, name, born, weight, cage, facts) VALUES
 (1, 1, 'a', '2001-02-03 04:05:06.789012', 1e300, ST_GeomFromText('POINT(1 2)'), '{"legs": 4}'),
 (1, 2, '🐘', NULL, -0.0, ST_GeomFromText('POINT(3 4)'), NULL), (NULL, 1, 'b\\ack', '1000-01-01', 0.1, ST_GeomFromText('POINT(-5 6)'), '[]');
CREATE TABLE toy (id int PRIMARY KEY, animal bigint, CONSTRAINT of_animal FOREIGN KEY (animal) REFERENCES animal (id) ON DELETE CASCADE) ENGINE=InnoDB;
INSERT INTO toy VALUES (1, 1), (2, 2), (3, NULL);
CREATE TABLE chip (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, animal bigint, code int, UNIQUE KEY code (code), CONSTRAINT in_animal FOREIGN KEY (animal) REFERENCES animal (id) ON DELETE CASCADE) ENGINE=InnoDB;
INSERT INTO chip VALUES (1, 2, 77);
CREATE TABLE food (id int PRIMARY KEY, name varchar(10)) ENGINE=InnoDB;
CREATE TABLE meal (id int PRIMARY KEY, food int, CONSTRAINT eaten FOREIGN KEY (food) REFERENCES food (id)) ENGINE=InnoDB;
INSERT INTO food VALUES (1, 'hay'), (2, 'oats');
INSERT INTO meal VALUES (1, 1), (2, 2);
CREATE TABLE visit (day date NOT NULL, who int NOT NULL, PRIMARY KEY (day, who)) ENGINE=InnoDB
 PARTITION BY RANGE (to_days(day)) (PARTITION old VALUES LESS THAN (738000), PARTITION new VALUES LESS THAN MAXVALUE);
INSERT INTO visit VALUES ('2001-01-01', 1), ('2001-01-02', 2), ('2030-01-01', 3);
CREATE TABLE note (line text) ENGINE=InnoDB;
INSERT INTO note VALUES ('x'), ('x'), (NULL), ('z');
CREATE TABLE old (a int, b varchar(10), KEY (a)) ENGINE=MyISAM;
INSERT INTO old VALUES (1, 'one'), (2, 'two'), (3, 'three');
CREATE TABLE counted (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, a int, u int, UNIQUE KEY (u)) ENGINE=InnoDB;
INSERT INTO counted (a, u) VALUES (1, 1), (2, 2);
CREATE TABLE empty_one (id int NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB;
CREATE TABLE `we``ird; "name"` (`co``l` int, `select` int) ENGINE=InnoDB;
INSERT INTO `we``ird; "name"` VALUES (1, 2);
CREATE TABLE alltypes (
  id int PRIMARY KEY, i8 tinyint, i16 smallint, i24 mediumint, u64 bigint unsigned, dec1 decimal(30, 10), f float, d double, b bit(33), c char(200), l char(10) CHARACTER SET latin1,
  v varchar(3000), t text, bl longblob, bin binary(16), e enum('x', 'y'), s set('a', 'b', 'c'), da date, ti time(3), dt datetime(6), ts timestamp(3) NULL, y year, j json, g geometry
) ENGINE=InnoDB;
INSERT INTO alltypes VALUES (1, -128, 32767, -8388608, 1, 12345678901234567890.0123456789, 1e30, 1e-300, b'101', 'ç', 'ü', REPEAT('v', 2000), REPEAT('t', 70000), REPEAT(UNHEX('00FF'), 40000),
  UNHEX('000102030405060708090A0B0C0D0E0F'), 'x', 'a,b', '2020-02-29', '12:34:56.789', '2020-02-29 23:59:59.999999', '2020-01-01 00:00:00.001', 2020, '{"k": [1, 2.5, "s"]}', ST_GeomFromText('POINT(1 2)')),
 (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE maze (v int GENERATED ALWAYS AS (b + 1) VIRTUAL, s int GENERATED ALWAYS AS (b * 2) STORED, b int NOT NULL, t varchar(9), w int GENERATED ALWAYS AS (b) VIRTUAL, UNIQUE KEY b (b), KEY v (v)) ENGINE=InnoDB;
INSERT INTO maze (b, t) VALUES (1, 'a'), (2, NULL), (3, 'c');
CREATE TABLE ruled (id int PRIMARY KEY, a int NOT NULL, v int GENERATED ALWAYS AS (a + 1) VIRTUAL, c int, g int GENERATED ALWAYS AS (a + c) VIRTUAL, s int GENERATED ALWAYS AS (a * c) STORED, KEY g (g), CHECK (v > 0 AND v IS NOT NULL)) ENGINE=InnoDB;
INSERT INTO ruled (id, a, c) VALUES (1, 1, 1), (2, 2, NULL), (3, 3, 3);
CREATE TABLE mirror (b int, t varchar(9), s int GENERATED ALWAYS AS (b * 2) STORED, UNIQUE KEY s (s)) ENGINE=InnoDB; -- mariadb
CREATE TABLE mirror (b int, t varchar(9), s int GENERATED ALWAYS AS (b * 2) STORED NOT NULL, UNIQUE KEY s (s)) ENGINE=InnoDB; -- mysql
INSERT INTO mirror (b, t) VALUES (1, 'a'), (2, NULL), (3, 'c');
CREATE TABLE essay (line text NOT NULL, n int, UNIQUE KEY line (line)) ENGINE=InnoDB; -- mariadb
INSERT INTO essay VALUES ('one', 1), (REPEAT('two', 2000), 2), ('three', NULL); -- mariadb
CREATE SEQUENCE tickets START WITH 7 INCREMENT BY 3; -- mariadb
CREATE TABLE history (a int) WITH SYSTEM VERSIONING; -- mariadb
INSERT INTO history VALUES (1), (2); -- mariadb
UPDATE history SET a = a + 10; -- mariadb
CREATE TABLE history2 (a int, s timestamp(6) GENERATED ALWAYS AS ROW START, e timestamp(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING; -- mariadb
INSERT INTO history2 (a) VALUES (1), (2); -- mariadb
DELETE FROM history2 WHERE a = 1; -- mariadb
DELIMITER ;;
CREATE FUNCTION twice(n int) RETURNS int DETERMINISTIC RETURN n * 2;;
CREATE PROCEDURE feed(IN who int) BEGIN UPDATE animal SET weight = 7 WHERE id = who; END;;
CREATE TRIGGER born_first BEFORE INSERT ON animal FOR EACH ROW SET NEW.name = CONCAT(NEW.name, '!');;
CREATE TRIGGER died AFTER DELETE ON animal FOR EACH ROW INSERT INTO note VALUES (CONCAT('died: ', OLD.name));;
CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2031-01-01 00:00:00' DISABLE COMMENT 'c' DO DELETE FROM note;;
DELIMITER ;
CREATE VIEW all_keepers AS SELECT * FROM keeper;
CREATE VIEW heavy AS SELECT id, weight FROM animal WHERE weight > 0;
