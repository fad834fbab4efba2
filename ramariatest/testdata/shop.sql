CREATE TABLE orders (
  id INT PRIMARY KEY AUTO_INCREMENT,
  item VARCHAR(40) NOT NULL,
  ordered DATETIME NOT NULL DEFAULT '2026-01-02 03:04:05'
) ENGINE=InnoDB;
INSERT INTO orders (item) VALUES ('a lamp'), ('a chair'), ('a ''table''');
