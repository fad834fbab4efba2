-- A small database with one of everything that has to be cloned. Lines that end with a
-- flavour are for it alone.
SET NAMES utf8mb4;
CREATE DATABASE zoo CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
USE zoo;
ALTER DATABASE zoo COMMENT 'all of it; \'quoted\' \\ '; -- mariadb
CREATE TABLE keeper (
  id int unsigned NOT NULL AUTO_INCREMENT COMMENT 'it''s a "key"',
  name varchar(60) CHARACTER SET latin1 NOT NULL,
  wage decimal(10,2) NOT NULL DEFAULT 0.00,
  year decimal(12,2) GENERATED ALWAYS AS (wage * 12) VIRTUAL,
  initial char(1) GENERATED ALWAYS AS (left(name, 1)) STORED,
  secret int NOT NULL DEFAULT 7 INVISIBLE,
  PRIMARY KEY (id), UNIQUE KEY name (name), KEY initial (initial),
  CONSTRAINT fair CHECK (wage < 100000)
) ENGINE=InnoDB AUTO_INCREMENT=4711 COMMENT='people; with a \\ and `zoo`';
CREATE TABLE animal (
  id bigint NOT NULL AUTO_INCREMENT,
  keeper int unsigned DEFAULT NULL,
  name varchar(100) NOT NULL DEFAULT 'anon',
  born datetime(6) DEFAULT NULL,
  seen timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
  weight double DEFAULT NULL,
  cage point NOT NULL,
  facts json DEFAULT NULL,
  photo longblob DEFAULT NULL,
  flags bit(12) NOT NULL DEFAULT b'101',
  PRIMARY KEY (id), KEY born (born), FULLTEXT KEY words (name), SPATIAL KEY cage (cage),
  CONSTRAINT kept_by FOREIGN KEY (keeper) REFERENCES keeper (id) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB;
CREATE TABLE visit (day date NOT NULL, who int NOT NULL, PRIMARY KEY (day, who)) ENGINE=InnoDB
 PARTITION BY RANGE (to_days(day)) (PARTITION old VALUES LESS THAN (738000), PARTITION new VALUES LESS THAN MAXVALUE);
CREATE TABLE note (line text) ENGINE=MyISAM;
CREATE TABLE empty_one (id int NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB;
CREATE TABLE `we``ird; "name"` (`co``l` int, `select` int) ENGINE=InnoDB;
CREATE SEQUENCE tickets START WITH 7 INCREMENT BY 3; -- mariadb
SELECT NEXTVAL(tickets), NEXTVAL(tickets); -- mariadb
CREATE TABLE uses_sequence (id int NOT NULL DEFAULT NEXTVAL(tickets), a int); -- mariadb
INSERT INTO uses_sequence (a) VALUES (1); -- mariadb
CREATE TABLE history (a int) WITH SYSTEM VERSIONING; -- mariadb
INSERT INTO history VALUES (1), (2); -- mariadb
INSERT INTO keeper (id, name, wage, secret) VALUES (1, 'Löwe', 10.5, 1), (2, 'Ben', 20, 2), (3, 'O''Hare', 30, 3);
INSERT INTO animal (keeper, name, born, weight, cage, facts, photo, flags) VALUES
 (1, 'a', '2001-02-03 04:05:06.789012', 1e300, ST_GeomFromText('POINT(1 2)'), '{"legs": 4, "n": [1, null, "ä"]}', 0x0001FF, b'111'),
 (1, '🐘', NULL, -0.0, ST_GeomFromText('POINT(3 4)'), NULL, NULL, b'0'),
 (NULL, 'b\\ack', '1000-01-01', 0.1, ST_GeomFromText('POINT(-5 6)'), '[]', '', b'101');
INSERT INTO visit VALUES ('2001-01-01', 1), ('2030-01-01', 2);
INSERT INTO note VALUES ('x'), ('x'), (NULL);
INSERT INTO `we``ird; "name"` VALUES (1, 2);
DELIMITER ;;
CREATE FUNCTION twice(n int) RETURNS int DETERMINISTIC RETURN n * 2;;
CREATE DEFINER=`nobody`@`nowhere` PROCEDURE feed(IN who int)
BEGIN
  -- a comment; with a semicolon
  UPDATE animal SET weight = weight + 1 WHERE id = who;
  SELECT 'ä; "zoo"';
END;;
ALTER DATABASE zoo COLLATE utf8mb4_bin;;
CREATE FUNCTION older(t varchar(10)) RETURNS int DETERMINISTIC RETURN t = 'a';;
ALTER DATABASE zoo COLLATE utf8mb4_unicode_ci;;
SET sql_mode = 'ANSI_QUOTES';;
CREATE PROCEDURE "quoted"() SELECT "id" FROM "animal";;
SET sql_mode = DEFAULT;;
SET NAMES latin1;;
CREATE PROCEDURE old_bytes() SELECT 'l�we';;
SET NAMES utf8mb4;;
CREATE TRIGGER born_first BEFORE INSERT ON animal FOR EACH ROW SET NEW.name = CONCAT(NEW.name, '');;
CREATE TRIGGER born_second BEFORE INSERT ON animal FOR EACH ROW FOLLOWS born_first SET @n = @n + 1;;
CREATE TRIGGER a_born BEFORE INSERT ON animal FOR EACH ROW FOLLOWS born_second SET @n = @n * 2;;
CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2031-01-01 00:00:00' DISABLE COMMENT 'c' DO DELETE FROM note;;
DELIMITER ;
CREATE VIEW z_all AS SELECT * FROM keeper;
CREATE VIEW a_view AS SELECT name, twice(id) AS d, '`zoo`' AS lit FROM z_all;
CREATE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW heavy AS SELECT id, weight FROM animal WHERE weight > 0 WITH CASCADED CHECK OPTION;
