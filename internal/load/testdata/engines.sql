CREATE TABLE `my` (`n` int NOT NULL AUTO_INCREMENT, `t` varchar(20) DEFAULT NULL, PRIMARY KEY (`n`), KEY `t` (`t`)) ENGINE=MyISAM AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4;
LOCK TABLES `my` WRITE;
/*!40000 ALTER TABLE `my` DISABLE KEYS */;
INSERT INTO `my` VALUES (9,'nine'),(3,'three'),(7,'seven'),(NULL,'ten');
INSERT INTO `my` (`t`) VALUES ('eleven'),('twelve');
INSERT INTO `my` (`t`) VALUES ('thirteen');
/*!40000 ALTER TABLE `my` ENABLE KEYS */;
UNLOCK TABLES;
CREATE TABLE `group` (`g` varchar(10) NOT NULL, `n` int NOT NULL AUTO_INCREMENT, `t` varchar(20), PRIMARY KEY (`g`,`n`)) ENGINE=MyISAM;
INSERT INTO `group` (`g`,`t`) VALUES ('a','one'),('b','one'),('a','two');
INSERT INTO `group` (`g`,`t`) VALUES ('b','two');
CREATE TABLE `aria` (`n` int DEFAULT NULL, `t` text) ENGINE=Aria PAGE_CHECKSUM=1; -- mariadb
INSERT INTO `aria` VALUES (2,'b'),(1,'a'),(2,'b'); -- mariadb
INSERT INTO `aria` VALUES (3,'c'); -- mariadb
CREATE TABLE `mem` (`id` int NOT NULL, `t` varchar(20) DEFAULT NULL, PRIMARY KEY (`id`), KEY `t` (`t`) USING BTREE) ENGINE=MEMORY;
INSERT INTO `mem` VALUES (5,'five'),(1,'one'),(3,NULL);
INSERT INTO `mem` VALUES (2,'two');
CREATE TABLE `heap` (`a` int NOT NULL, `b` int DEFAULT NULL, KEY `b` (`b`)) ENGINE=InnoDB;
INSERT INTO `heap` VALUES (3,1),(1,2),(2,3),(1,2);
INSERT INTO `heap` VALUES (0,0);
INSERT INTO `heap` VALUES (9,9),(8,8);
CREATE TABLE `unique_only` (`a` int NOT NULL, `b` int NOT NULL, UNIQUE KEY `a` (`a`), KEY `b` (`b`)) ENGINE=InnoDB;
INSERT INTO `unique_only` VALUES (3,1),(1,2),(2,3);
CREATE TABLE `nine` (`a` int PRIMARY KEY, `b` int, KEY (`b`));
INSERT INTO `nine` VALUES (3,1),(1,2),(2,3);
CREATE TABLE `words` (`id` int NOT NULL AUTO_INCREMENT, `t` text, `p` point NOT NULL, `k` int, PRIMARY KEY (`id`), KEY `k` (`k`), FULLTEXT KEY `t` (`t`), SPATIAL KEY `p` (`p`)) ENGINE=InnoDB;
INSERT INTO `words` VALUES (1,'some words',ST_GeomFromText('POINT(1 1)'),3),(2,'more',ST_GeomFromText('POINT(2 2)'),2);
INSERT INTO `words` VALUES (3,'hex',0x00000000010100000000000000000008400000000000000840,1);
CREATE TABLE `versioned` (`id` int NOT NULL, `t` varchar(9) DEFAULT NULL, PRIMARY KEY (`id`), KEY `t` (`t`)) ENGINE=InnoDB WITH SYSTEM VERSIONING; -- mariadb
INSERT INTO `versioned` VALUES (1,'a'),(2,'b'); -- mariadb
CREATE TABLE `invisible` (`id` int NOT NULL, `h` int INVISIBLE DEFAULT 4, `t` varchar(9), PRIMARY KEY (`id`), KEY `t` (`t`)) ENGINE=InnoDB;
INSERT INTO `invisible` VALUES (1,'a'),(2,'b');
INSERT INTO `invisible` (`id`,`h`,`t`) VALUES (3,5,'c'),(4,NULL,'d');
CREATE TABLE `squeezed` (`id` int NOT NULL, `t` varchar(9), PRIMARY KEY (`id`), KEY `t` (`t`)) ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4 COMMENT='a, (b) "c"';
INSERT INTO `squeezed` VALUES (1,'a'),(2,'b');
