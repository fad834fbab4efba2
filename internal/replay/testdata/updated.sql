CREATE DATABASE shop;
USE shop;
CREATE TABLE updated (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', KEY (k)) ENGINE=InnoDB;
INSERT INTO updated (c, pad) VALUES (REPEAT('c', 119), REPEAT('p', 59)), (REPEAT('d', 119), REPEAT('q', 59)), (REPEAT('e', 119), REPEAT('r', 59)), (REPEAT('f', 119), REPEAT('s', 59)), (REPEAT('g', 119), REPEAT('t', 59));
INSERT INTO updated (c, pad) SELECT a.c, b.pad FROM updated a, updated b, updated d, updated e, updated f, updated g, updated h;
INSERT INTO updated (c, pad) SELECT c, pad FROM updated LIMIT 21870;
SET @i = 0;
UPDATE updated SET id = (@i := @i + 1), k = id ORDER BY id;
