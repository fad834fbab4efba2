-- A database with one of everything that a dump can hold; equality_test.go adds rows.
/*!40101 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE, TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
DROP DATABASE IF EXISTS `zoo`;
CREATE DATABASE `zoo` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci */;
USE `zoo`;

CREATE TABLE `keeper` (
  `id` int unsigned NOT NULL AUTO_INCREMENT COMMENT 'it''s a "key"',
  `name` varchar(60) CHARACTER SET latin1 COLLATE latin1_german1_ci NOT NULL,
  `boss` int unsigned DEFAULT NULL,
  `wage` decimal(10,2) unsigned NOT NULL DEFAULT 0.00,
  `wage_year` decimal(12,2) GENERATED ALWAYS AS (`wage` * 12) VIRTUAL,
  `initial` char(1) CHARACTER SET latin1 GENERATED ALWAYS AS (left(`name`,1)) STORED,
  `shift` set('dawn','day','night') NOT NULL DEFAULT 'day',
  `hired` date NOT NULL DEFAULT '0000-00-00',
  PRIMARY KEY (`id`),
  UNIQUE KEY `name` (`name`),
  KEY `by_initial` (`initial`,`wage_year`),
  CONSTRAINT `boss` FOREIGN KEY (`boss`) REFERENCES `keeper` (`id`) ON DELETE SET NULL,
  CONSTRAINT `fair` CHECK (`wage` < 100000)
) ENGINE=InnoDB AUTO_INCREMENT=4711 DEFAULT CHARSET=utf8mb4 COMMENT='people; with a semicolon';

CREATE TABLE `animal` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `keeper` int unsigned DEFAULT NULL,
  `name` varchar(100) COLLATE utf8mb4_bin NOT NULL DEFAULT 'anon',
  `kind` enum('bird','fish','mammal','don''t know') DEFAULT NULL,
  `born` datetime(6) DEFAULT NULL,
  `seen` timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
  `weight` double DEFAULT NULL,
  `cage` point NOT NULL,
  `about` longtext DEFAULT NULL,
  `facts` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL CHECK (json_valid(`facts`)),
  `legs` int GENERATED ALWAYS AS (json_value(`facts`,'$.legs')) VIRTUAL,
  `photo` longblob DEFAULT NULL,
  `flags` bit(12) NOT NULL DEFAULT b'101',
  PRIMARY KEY (`id`),
  KEY `legs` (`legs`),
  KEY `about` (`about`(20)),
  FULLTEXT KEY `words` (`about`),
  SPATIAL KEY `cage` (`cage`),
  CONSTRAINT `kept_by` FOREIGN KEY (`keeper`) REFERENCES `keeper` (`id`) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=1000003 DEFAULT CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC;

CREATE TABLE `feeding` (
  `day` date NOT NULL,
  `animal` bigint NOT NULL,
  `grams` smallint NOT NULL,
  PRIMARY KEY (`day`,`animal`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
 PARTITION BY RANGE (to_days(`day`))
(PARTITION `old` VALUES LESS THAN (730000) ENGINE = InnoDB,
 PARTITION `mid` VALUES LESS THAN (738000) ENGINE = InnoDB,
 PARTITION `new` VALUES LESS THAN MAXVALUE ENGINE = InnoDB);

CREATE TABLE `ticket` (`id` int NOT NULL, `price` float DEFAULT NULL, KEY (`id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 PARTITION BY HASH (`id`) PARTITIONS 3;
CREATE TABLE `gate` (`n` int NOT NULL AUTO_INCREMENT, `t` text, PRIMARY KEY (`n`)) ENGINE=MyISAM AUTO_INCREMENT=77 DEFAULT CHARSET=latin1;
CREATE TABLE `note` (`n` int DEFAULT NULL, `t` varchar(20) DEFAULT NULL) ENGINE=Aria DEFAULT CHARSET=utf8mb4 PAGE_CHECKSUM=1;
CREATE TABLE `diary` (`t` varchar(200) NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE `we``ird ;name` (`a b` int NOT NULL, `grün` varchar(10) DEFAULT 'für', PRIMARY KEY (`a b`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE SEQUENCE `number` START WITH 10 INCREMENT BY 5 CACHE 100;
INSERT INTO `we``ird ;name` VALUES (1,'zwölf'),(2,NULL),(3,'🐘');
INSERT INTO `gate` VALUES (1,'one'),(5,'\0\n\r\Z\\\'\"');
INSERT INTO `note` VALUES (1,'a'),(NULL,NULL);

/*!50001 CREATE VIEW `busy` AS SELECT 1 AS `name`, 1 AS `animals` */;

-- ROWS

DELIMITER ;;
/*!50003 CREATE TRIGGER `feeding_in` BEFORE INSERT ON `feeding` FOR EACH ROW BEGIN
  -- ; a delimiter in a comment ;
  IF NEW.`grams` < 0 THEN SET NEW.`grams` = 0; END IF;
  INSERT INTO `diary` VALUES (CONCAT('fed ', NEW.`animal`, '; ', NEW.`grams`, ' g'));
END */;;
/*!50003 CREATE TRIGGER `keeper_up` AFTER UPDATE ON `keeper` FOR EACH ROW INSERT INTO `diary` VALUES ('keeper') */;;
/*!50003 CREATE TRIGGER `keeper_up2` AFTER UPDATE ON `keeper` FOR EACH ROW FOLLOWS `keeper_up` INSERT INTO `diary` VALUES ('again') */;;
SET SESSION sql_mode='ANSI_QUOTES,STRICT_TRANS_TABLES';;
CREATE FUNCTION "heavy"("kg" DOUBLE) RETURNS tinyint(1) DETERMINISTIC COMMENT 'ansi; quotes'
BEGIN
  RETURN "kg" > 100;
END;;
SET SESSION sql_mode='NO_AUTO_VALUE_ON_ZERO';;
CREATE PROCEDURE `feed_all`(IN `on_day` DATE, INOUT `fed` INT) SQL SECURITY INVOKER
BEGIN
  DECLARE `done` INT DEFAULT 0;
  DECLARE `a` BIGINT;
  DECLARE `c` CURSOR FOR SELECT `id` FROM `animal` ORDER BY `id` LIMIT 5;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET `done` = 1;
  OPEN `c`;
  `more`: LOOP
    FETCH `c` INTO `a`;
    IF `done` THEN LEAVE `more`; END IF;
    INSERT IGNORE INTO `feeding` VALUES (`on_day`, `a`, 10);
    SET `fed` = `fed` + 1;
  END LOOP;
  CLOSE `c`;
END;;
CREATE EVENT `tidy` ON SCHEDULE EVERY 1 WEEK STARTS '2036-01-06 03:00:00' ON COMPLETION PRESERVE DISABLE COMMENT 'at night' DO BEGIN
  DELETE FROM `diary`;
END;;
DELIMITER ;
CREATE EVENT `once` ON SCHEDULE AT '2037-02-03 04:05:06' DO INSERT INTO `diary` VALUES ('once');
SET @fed = 0;
CALL `feed_all`('2024-05-06', @fed);
/*!50001 DROP VIEW IF EXISTS `busy` */;
CREATE SQL SECURITY INVOKER VIEW `busy` AS SELECT `k`.`name` AS `name`, count(0) AS `animals` FROM (`keeper` `k` JOIN `animal` `a` ON (`a`.`keeper` = `k`.`id`)) GROUP BY `k`.`name` HAVING `animals` > 1;
CREATE ALGORITHM=MERGE VIEW `busiest` AS SELECT `name` FROM `busy` WHERE `animals` > 2;
CREATE VIEW `poor` AS SELECT `id`, `wage` FROM `keeper` WHERE `wage` < 10 WITH CASCADED CHECK OPTION;

CREATE DATABASE `annex` DEFAULT CHARACTER SET latin1;
USE `annex`;
CREATE TABLE `elsewhere` (`animal` bigint NOT NULL, `when` year DEFAULT NULL, KEY `animal` (`animal`), CONSTRAINT `across` FOREIGN KEY (`animal`) REFERENCES `zoo`.`animal` (`id`)) ENGINE=InnoDB;
INSERT INTO `elsewhere` VALUES (1,2024),(2,NULL);
USE `zoo`;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;
-- Dump completed on 2026-01-01  0:00:00
