-- Text and bytes with all that has a meaning in SQL or in LOAD DATA.
CREATE TABLE `text` (
  `id` int NOT NULL AUTO_INCREMENT,
  `t` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `l` varchar(60) CHARACTER SET latin1 DEFAULT NULL,
  `b` varbinary(300) DEFAULT NULL,
  `c` char(10) DEFAULT NULL,
  `f` binary(6) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `l` (`l`),
  KEY `t` (`t`(10)),
  UNIQUE KEY `u` (`id`,`l`)
) ENGINE=InnoDB AUTO_INCREMENT=100 DEFAULT CHARSET=utf8mb4;
INSERT INTO `text` VALUES (1,'it''s',"she said \"no\" and 'yes'",'\0\Z\\\n\r\t\b','a  ','x'),
(2,'\\N','\N',NULL,'\\','\0'),
(3,'a\tb\\tc\nd\r\n','zwölf','\'"`',' lead',x'00'),
(4,'Łoś 🐘 日本語','',0x00FF0A0D5C27,'é',0xFFFF),
(5,'),(6,''x''','-- no comment','/* none */','# no','a;b');
INSERT INTO `text` VALUES (7,'100\%\_','_\_','\%','%',''),(8,'NULL',NULL,'NULL','null',NULL),(9,'a' 'b' "c",'x' 'y',_binary 'ab\'c',_utf8mb4'ü',X'4142');
INSERT INTO `text` (`b`,`id`,`t`) VALUES (_binary '\0\'\"\Z',10,_latin1 x'E9'),(_binary '',11,'a
b'),('ÿ',12,'\q\w');
INSERT INTO `text` VALUES (13,N'n','l','b','c','f'),(14,b'01000001',b'1000010',b'01000011',b'1','a'),(15,0x41,x'42',0x00,'','');
/* a comment; with ' in it */ INSERT INTO `text` VALUES /* and ' inside */ (16,'c',-- to the end
'l' # of the line '
,'b','c','f');
INSERT INTO `text` VALUES (17,'a
multi
line','
','
','	tab','	');
