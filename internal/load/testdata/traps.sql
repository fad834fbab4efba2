-- What once went wrong, or nearly.
SET SQL_NOTES=0;
CREATE TABLE `t` (`id` int NOT NULL, `b` bit(4) DEFAULT NULL, `v` varchar(9) DEFAULT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB;
CREATE DATABASE `e`;
CREATE TABLE `e`.`t` (`id` int NOT NULL, `b` bit(4) DEFAULT NULL, `v` varchar(9) DEFAULT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB;
-- The last rows before USE are not for LOAD DATA, and name no database.
INSERT INTO `t` VALUES (1,b'1',007),(2,b'10',8);
UNLOCK TABLES;
USE `e`;
DROP TABLE IF EXISTS `a`;
INSERT INTO `t` VALUES (1,b'101','e');
USE `d`;
-- A value that is another one in every session, if it is not asked for in each.
CREATE TABLE `at` (`id` int NOT NULL, `at` timestamp NULL DEFAULT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB;
SET time_zone='+05:00';
INSERT INTO `at` VALUES (1,'2020-01-01 00:00:00');
SET time_zone=@@GLOBAL.time_zone;
INSERT INTO `at` VALUES (2,'2020-01-01 00:00:00');
SET @zone='+03:00';
SET @@session.time_zone=@zone;
INSERT INTO `at` VALUES (3,'2020-01-01 00:00:00');
-- A table that is there already, of another shape.
CREATE TABLE `old` (`b` int NOT NULL, `a` int NOT NULL, PRIMARY KEY (`a`), KEY `b` (`b`)) ENGINE=InnoDB;
INSERT INTO `old` SELECT 5, 6;
CREATE TABLE IF NOT EXISTS `old` (`a` int NOT NULL, `b` int NOT NULL, PRIMARY KEY (`a`), KEY `b` (`b`)) ENGINE=InnoDB;
INSERT INTO `old` VALUES (1,2),(3,4);
DROP TABLE IF EXISTS `new`;
CREATE TABLE IF NOT EXISTS `new` (`a` int NOT NULL, `b` int NOT NULL, PRIMARY KEY (`a`), KEY `b` (`b`)) ENGINE=InnoDB;
INSERT INTO `new` VALUES (1,2),(3,4);
-- Columns that the server computes, all or some: rows of nothing, and DEFAULT in their places.
CREATE TABLE `computed` (`b` int GENERATED ALWAYS AS (1) STORED) ENGINE=InnoDB;
INSERT INTO `computed` () VALUES (),(),();
INSERT INTO `computed` VALUES (DEFAULT),(DEFAULT);
CREATE TABLE `partly` (`id` int NOT NULL, `a` int DEFAULT NULL, `b` int GENERATED ALWAYS AS (`a`*2) STORED, `c` int GENERATED ALWAYS AS (`a`+1) VIRTUAL, PRIMARY KEY (`id`)) ENGINE=InnoDB;
INSERT INTO `partly` VALUES (1,2,DEFAULT,DEFAULT),(2,3,DEFAULT,DEFAULT);
INSERT INTO `partly` (`id`,`a`,`b`) VALUES (3,4,DEFAULT),(4,NULL,DEFAULT);
-- Several statements in one, of which the first looks harmless.
CREATE TABLE `n` (`id` int NOT NULL, `n` int NOT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB;
INSERT INTO `n` VALUES (1,1),(2,2),(3,3);
DELIMITER //
DROP PROCEDURE IF EXISTS `p`; UPDATE `n` SET `n`=`n`+10//
START TRANSACTION; INSERT INTO `n` VALUES (4,4)//
INSERT INTO `n` VALUES (5,5)//
COMMIT//
DELIMITER ;
INSERT INTO `n` VALUES (6,6);
