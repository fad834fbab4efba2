SET @OLD_FK=@@foreign_key_checks, foreign_key_checks=0;
SET @OLD_MODE=@@sql_mode, sql_mode='NO_AUTO_VALUE_ON_ZERO';
-- a child before its parent, which it refers to by another key than the primary one
DROP TABLE IF EXISTS `child`;
CREATE TABLE `child` (
  `id` int NOT NULL AUTO_INCREMENT,
  `code` varchar(10) NOT NULL,
  `made` datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
  PRIMARY KEY (`id`),
  KEY `code` (`code`),
  KEY `made` (`made`),
  CONSTRAINT `child_1` FOREIGN KEY (`code`) REFERENCES `parent` (`code`) ON DELETE RESTRICT ON UPDATE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=50;
INSERT INTO `child` VALUES (1,'a','2020-01-01'),(2,'b','0000-00-00 00:00:00');
INSERT INTO `child` VALUES (3,'a','2020-01-03');
DROP TABLE IF EXISTS `parent`;
CREATE TABLE `parent` (
  `id` int NOT NULL,
  `code` varchar(10) NOT NULL,
  `self` int DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `code` (`code`),
  KEY `self` (`self`),
  CONSTRAINT `parent_self` FOREIGN KEY (`self`) REFERENCES `parent` (`id`) ON DELETE SET NULL
) ENGINE=InnoDB;
INSERT INTO `parent` VALUES (1,'a',2),(2,'b',NULL);
INSERT INTO `parent` VALUES (3,'c',1);
-- keys of many kinds, with generated columns
CREATE TABLE `made` (
  `id` int NOT NULL,
  `a` int DEFAULT NULL,
  `b` int GENERATED ALWAYS AS (`a` + 1) STORED,
  `c` int GENERATED ALWAYS AS (`a` * 2) VIRTUAL,
  `t` text,
  PRIMARY KEY (`id`),
  UNIQUE KEY `a` (`a`),
  KEY `b` (`b`),
  KEY `c` (`c`,`a`),
  KEY `t` (`t`(10)) COMMENT 'it''s; a comment',
  FULLTEXT KEY `words` (`t`)
) ENGINE=InnoDB;
INSERT INTO `made` (`id`,`a`,`t`) VALUES (1,1,'one'),(2,NULL,'two');
INSERT INTO `made` (`id`,`a`,`t`) VALUES (3,NULL,'three');
INSERT INTO `made` VALUES (4,5,DEFAULT,DEFAULT,'four');
-- a trigger between
CREATE TRIGGER `made_g` AFTER INSERT ON `made` FOR EACH ROW INSERT INTO `log` (`what`) VALUES (NEW.id);
CREATE TABLE `log` (`n` int NOT NULL AUTO_INCREMENT, `what` int, PRIMARY KEY (`n`), KEY `what` (`what`)) ENGINE=InnoDB;
INSERT INTO `made` (`id`,`a`) VALUES (10,10);
INSERT INTO `made` (`id`,`a`) VALUES (11,11);
INSERT INTO `log` (`what`) VALUES (100);
INSERT INTO `log` (`what`) VALUES (101);
INSERT INTO `made` (`id`,`a`) VALUES (12,12);
-- rows again, other rows meanwhile
CREATE TABLE `again` (`id` int NOT NULL, `k` int, PRIMARY KEY (`id`), UNIQUE KEY `k` (`k`)) ENGINE=InnoDB;
INSERT INTO `again` VALUES (1,1);
INSERT INTO `again` VALUES (2,2);
INSERT INTO `log` (`what`) VALUES (102);
INSERT INTO `again` VALUES (3,3);
REPLACE INTO `again` VALUES (4,3);
INSERT IGNORE INTO `again` VALUES (5,1),(6,6);
-- each in its transaction
SET autocommit=0;
CREATE TABLE `late` (`id` int NOT NULL, `k` int, PRIMARY KEY (`id`), KEY `k` (`k`)) ENGINE=InnoDB;
LOCK TABLES `late` WRITE;
/*!40000 ALTER TABLE `late` DISABLE KEYS */;
INSERT INTO `late` VALUES (1,1),(2,2);
INSERT INTO `late` VALUES (3,3);
/*!40000 ALTER TABLE `late` ENABLE KEYS */;
UNLOCK TABLES;
COMMIT;
SET autocommit=1;
BEGIN;
INSERT INTO `late` VALUES (4,4);
INSERT INTO `late` VALUES (5,5);
ROLLBACK;
SET sql_mode=@OLD_MODE;
SET foreign_key_checks=@OLD_FK;
