-- Literals that are odd but legal, by the kind of column, strict and not.
SET sql_mode='NO_ENGINE_SUBSTITUTION';
SET time_zone='+00:00';
CREATE TABLE `types` (
  `id` bigint NOT NULL,
  `i` int DEFAULT 7,
  `u` tinyint unsigned DEFAULT NULL,
  `d` decimal(10,3) DEFAULT NULL,
  `f` float DEFAULT NULL,
  `g` double DEFAULT NULL,
  `s` varchar(8) DEFAULT 'dflt',
  `t` text DEFAULT NULL,
  `bi` bit(12) DEFAULT NULL,
  `e` enum('one','two','3','') DEFAULT NULL,
  `st` set('a','b','c','1') DEFAULT NULL,
  `y` year DEFAULT NULL,
  `da` date DEFAULT NULL,
  `ti` time(2) DEFAULT NULL,
  `dt` datetime(3) DEFAULT NULL,
  `ts` timestamp NULL DEFAULT NULL,
  `bl` blob DEFAULT NULL,
  `js` json DEFAULT NULL,
  `p` point DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `i` (`i`),
  KEY `s` (`s`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO `types` (`id`,`i`,`u`,`d`,`f`,`g`,`s`,`t`) VALUES (1,007,'12',1.5,1.5e3,-2E-5,007,1e3),(2,'42',255,'3.14159','1e2',.5,1.50,-0),(3,1.6,1.5,-.5,5.,'0x10',0x41,+7);
INSERT INTO `types` (`id`,`i`,`u`,`d`,`f`,`g`,`s`,`t`) VALUES (4,'12abc',300,99999999999,'x',1e300,'much too long',TRUE),(5,'',-1,'','','',FALSE,00012);
INSERT INTO `types` (`id`,`i`,`u`,`d`,`f`,`g`,`s`,`t`) VALUES (6,0x10,x'41',b'101',0x02,0x03,x'4142',0xFFFE),(7,true,false,TRUE,False,NULL,DEFAULT,'x'),(8,DEFAULT,DEFAULT,DEFAULT,1,1,DEFAULT,NULL);
INSERT INTO `types` (`id`,`bi`,`e`,`st`,`y`) VALUES (10,b'101','one','a,b',2024),(11,5,2,3,24),(12,'1','3','1','1999'),(13,0x0F,3,'c,a',0),(14,x'FF','','','0'),(15,NULL,NULL,NULL,NULL),(16,'ab','TWO ','B,A','70');
INSERT INTO `types` (`id`,`bi`,`e`,`st`,`y`) VALUES (17,99999,'no such',99,1800),(18,-1,0,'x,a',2300),(19,b'','one','a,a','abc');
INSERT INTO `types` (`id`,`da`,`ti`,`dt`,`ts`) VALUES (20,'2024-02-29','12:34:56.789','2024-02-29 12:34:56.7899','2024-06-01 12:00:00'),(21,20240229,123456,20240229123456,20240601120000),(22,'24-2-9','1 02:03','2024.02.09 1+2+3','2024-06-01T12:00:00'),(23,'0000-00-00','-838:59:59','0000-00-00 00:00:00','0000-00-00 00:00:00');
INSERT INTO `types` (`id`,`da`,`ti`,`dt`,`ts`) VALUES (24,'2024-02-31','99:99','2024-13-01','1960-01-01'),(25,'','','',''),(26,0,0,0,0),(27,'x','y','z','2024-06-01 25:00:00'),(28,20240229.5,1234.567,'2024-02-29 23:59:59.9999',240601);
INSERT INTO `types` (`id`,`bl`,`js`) VALUES (30,0x00FF,'{"a": [1, 2.50, "ä\\n"], "b": null}'),(31,12,'[]'),(32,x'','"x"'),(33,'\0\Z','1'),(34,1.50,'null'),(35,'tr\\ail','{"z":1,"a":2,"a":3}');
INSERT INTO `types` (`id`,`bl`,`p`) VALUES (40,'p',ST_GeomFromText('POINT(1 2)')),(41,'q',0x000000000101000000000000000000F03F0000000000000040),(42,NULL,NULL);
INSERT INTO `types` (`id`,`da`) VALUES (43,DATE '2024-01-01'),(44,'2024-01-02');
INSERT INTO `types` (`id`,`i`) VALUES ('50',1),('0051',2),(52.4,3),(0x35,4),(-54,5),(+55,6),(56e0,7);
SET sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';
INSERT INTO `types` (`id`,`i`,`s`,`t`) VALUES (60,1,'trail   ',5),(61,2,12345678,1.0),(62,3,'12345678   ',TRUE);
INSERT IGNORE INTO `types` (`id`,`i`,`s`,`t`) VALUES (60,1,'again',5),(63,'x','much too long',1.0);
INSERT INTO `types` (`id`,`d`,`f`) VALUES (64,1.23456789,1.23456789),(65,'0.0005','1e-50'),(66,-0.0001,123456789);
CREATE TABLE `must` (
  `id` int NOT NULL,
  `n` int NOT NULL,
  `s` varchar(5) NOT NULL,
  `d` datetime NOT NULL,
  `e` enum('x','y') NOT NULL,
  PRIMARY KEY (`id`),
  KEY `n` (`n`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
SET sql_mode='';
-- NULL in several rows becomes 0; in one row alone it is refused
INSERT INTO `must` VALUES (1,NULL,NULL,NULL,NULL),(2,2,'b','2024-01-01 00:00:00','y');
INSERT INTO `must` VALUES (3,3,'c',NULL,'x'),(4,NULL,'d','2024-01-01 00:00:00','x');
INSERT INTO `must` VALUES (5,5,'e','2024-01-01 00:00:00','x');
INSERT INTO `must` (`id`) VALUES (6),(7);
INSERT INTO `must` (`id`,`n`) VALUES (8,NULL),(9,DEFAULT);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (20,NULL,'abcde'),(21,0,NULL);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (22,NULL,'abcde'),(23,1,NULL);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (24,NULL,'abcde'),(25,2,NULL);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (26,NULL,'abcde'),(27,3,NULL);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (28,NULL,'abcde'),(29,4,NULL);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (30,NULL,'abcde'),(31,5,NULL);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (32,NULL,'abcde'),(33,6,NULL);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (34,NULL,'abcde'),(35,7,NULL);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (36,NULL,'abcde'),(37,8,NULL);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (38,NULL,'abcde'),(39,9,NULL);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (40,NULL,'abcde'),(41,10,NULL);
INSERT INTO `must` (`id`,`n`,`s`) VALUES (42,NULL,'abcde'),(43,11,NULL);
