/*M!999999\- enable the sandbox mode */ 
-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)
--
-- Host: localhost    Database: d
-- ------------------------------------------------------
-- Server version	10.11.19-MariaDB
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */;
/*!40101 SET @OLD_COLLATION_CONNECTION=@@COLLATION_CONNECTION */;
/*!40101 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */;
/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;
/*!50717 SET @rocksdb_bulk_load_var_name='rocksdb_bulk_load' */;
/*!50717 SET @x=1 */;

CREATE SEQUENCE `seq` start with 10 minvalue 1 maxvalue 9223372036854775806 increment by 5 cache 10 nocycle ENGINE=InnoDB; -- mariadb
DO SETVAL(`seq`, 110, 0); -- mariadb
CREATE SEQUENCE `seq2` start with 1 ENGINE=InnoDB; -- mariadb
SELECT SETVAL(`seq2`, 41, 1); -- mariadb
DROP TABLE IF EXISTS `by_sequence`;
CREATE TABLE `by_sequence` (`id` int NOT NULL DEFAULT nextval(`seq2`), `t` varchar(9) DEFAULT NULL, PRIMARY KEY (`id`), KEY `t` (`t`)) ENGINE=InnoDB; -- mariadb
INSERT INTO `by_sequence` (`t`) VALUES ('a'),('b'),('c'),('d'),('e'),('f'),('g'),('h'),('i'),('j'),('k'),('l'); -- mariadb
INSERT INTO `by_sequence` (`t`) VALUES ('m'),('n'); -- mariadb
INSERT INTO `by_sequence` VALUES (DEFAULT,'o'),(DEFAULT,'p'),(1000,'q'); -- mariadb

--
-- Table structure for table `child`
--

DROP TABLE IF EXISTS `child`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `child` (
  `id` int NOT NULL AUTO_INCREMENT,
  `parent` int DEFAULT NULL,
  `code` varchar(10) NOT NULL,
  `double_id` int GENERATED ALWAYS AS (`parent` * 2) VIRTUAL,
  `upper` varchar(10) GENERATED ALWAYS AS (upper(`code`)) STORED,
  PRIMARY KEY (`id`),
  UNIQUE KEY `code` (`code`),
  KEY `parent` (`parent`),
  KEY `upper` (`upper`),
  CONSTRAINT `fk_parent` FOREIGN KEY (`parent`) REFERENCES `parent` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=77 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

LOCK TABLES `child` WRITE;
/*!40000 ALTER TABLE `child` DISABLE KEYS */;
INSERT INTO `child` (`id`, `parent`, `code`) VALUES (1,1,'a'),(2,1,'b'),(3,2,'c'),(4,99,'orphan'),(5,NULL,'n');
INSERT INTO `child` (`id`, `parent`, `code`, `double_id`, `upper`) VALUES (6,2,'d',DEFAULT,DEFAULT);
/*!40000 ALTER TABLE `child` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `parent`;
CREATE TABLE `parent` (
  `id` int NOT NULL,
  `name` varchar(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `name` (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
LOCK TABLES `parent` WRITE;
/*!40000 ALTER TABLE `parent` DISABLE KEYS */;
INSERT INTO `parent` VALUES
(1,'one'),
(2,'two'),
(3,'three');
/*!40000 ALTER TABLE `parent` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `log`;
CREATE TABLE `log` (`n` int NOT NULL AUTO_INCREMENT, `t` varchar(50), PRIMARY KEY (`n`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

DROP TABLE IF EXISTS `parts`;
CREATE TABLE `parts` (
  `day` date NOT NULL,
  `n` int NOT NULL,
  `t` varchar(10) DEFAULT NULL,
  PRIMARY KEY (`day`,`n`),
  KEY `t` (`t`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
 PARTITION BY RANGE (to_days(`day`))
(PARTITION `p0` VALUES LESS THAN (738000) ENGINE = InnoDB,
 PARTITION `p1` VALUES LESS THAN MAXVALUE ENGINE = InnoDB);
INSERT INTO `parts` VALUES ('2024-01-01',1,'a'),('1999-01-01',1,'b'),('2024-01-01',2,'c'),('1999-01-01',0,'d');

SET @saved_cs_client     = @@character_set_client;
SET character_set_client = utf8mb4;
/*!50001 CREATE VIEW `v1` AS SELECT
 1 AS `id`,
  1 AS `code` */;
SET character_set_client = @saved_cs_client;
/*!50001 CREATE TABLE `v2` (
  `id` tinyint NOT NULL,
  `n` tinyint NOT NULL
) ENGINE=InnoDB */;

/*!50003 SET @saved_sql_mode       = @@sql_mode */ ;
/*!50003 SET sql_mode              = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION' */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=CURRENT_USER*/ /*!50003 TRIGGER `parent_in` AFTER INSERT ON `parent` FOR EACH ROW BEGIN
  -- a comment; with a delimiter
  INSERT INTO `log` (`t`) VALUES (CONCAT('new ', NEW.`name`)); /* another */
END */;;
DELIMITER ;
/*!50003 SET sql_mode              = @saved_sql_mode */ ;
INSERT INTO `parent` VALUES (4,'four'),(5,'five'),(6,'six'),(7,'seven'),(8,'eight');
INSERT INTO `parent` VALUES (9,'nine');

DELIMITER ;;
/*!50106 CREATE EVENT `ev` ON SCHEDULE EVERY 1 DAY STARTS '2036-01-01 00:00:00' ON COMPLETION NOT PRESERVE DISABLE DO BEGIN
  DELETE FROM `log`; -- all
END */ ;;
DELIMITER ;
DELIMITER $$
CREATE DEFINER=CURRENT_USER PROCEDURE `p`(IN `x` INT)
    COMMENT 'a; b'
BEGIN
  /* inside; */
  # hash; comment
  -- dashes; too
  INSERT INTO `log` (`t`) VALUES ('it''s; $'), (CONCAT('p', x));
END$$
CREATE FUNCTION `f`(`a` INT) RETURNS int DETERMINISTIC RETURN a + 1 $$
DELIMITER ;
CALL `p`(7);
INSERT INTO `log` (`t`) VALUES ('generated'),('as well');
INSERT INTO `log` VALUES (50,'explicit');

/*!50001 DROP VIEW IF EXISTS `v1`*/;
/*!50001 SET @saved_cs_client          = @@character_set_client */;
/*!50001 SET character_set_client      = utf8mb4 */;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=CURRENT_USER SQL SECURITY DEFINER */
/*!50001 VIEW `v1` AS select `child`.`id` AS `id`,`child`.`code` AS `code` from `child` where `child`.`id` > 1 */;
/*!50001 SET character_set_client      = @saved_cs_client */;
/*!50001 DROP TABLE IF EXISTS `v2`*/;
/*!50001 CREATE VIEW `v2` AS select `v1`.`id` AS `id`,count(0) AS `n` from `v1` group by `v1`.`id` */;
INSERT INTO `v1` (`id`,`code`) VALUES (70,'view');

/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;
/*M!100616 SET NOTE_VERBOSITY=@OLD_NOTE_VERBOSITY */;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */;
/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;
-- Dump completed on 2026-01-01  0:00:00
