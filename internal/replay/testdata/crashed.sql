CREATE DATABASE shop;
CREATE TABLE shop.isam (a INT PRIMARY KEY, b VARCHAR(200)) ENGINE=MyISAM;
INSERT INTO shop.isam VALUES (1, 'row-01'), (2, 'row-02'), (3, 'row-03'), (4, 'row-04'), (5, 'row-05'), (6, 'row-06'), (7, 'row-07'), (8, 'row-08'), (9, 'row-09'), (10, 'row-10');
CREATE TABLE shop.kept (a INT PRIMARY KEY) ENGINE=InnoDB;
INSERT INTO shop.kept VALUES (1);
