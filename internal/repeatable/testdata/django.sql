CREATE TABLE `django_migrations` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `app` varchar(255) NOT NULL, `name` varchar(255) NOT NULL, `applied` datetime(6) NOT NULL)

CREATE TABLE `django_content_type` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `name` varchar(100) NOT NULL, `app_label` varchar(100) NOT NULL, `model` varchar(100) NOT NULL)

CREATE TABLE `auth_permission` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `name` varchar(50) NOT NULL, `content_type_id` integer NOT NULL, `codename` varchar(100) NOT NULL)

CREATE TABLE `auth_user` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `password` varchar(128) NOT NULL, `last_login` datetime(6) NULL, `is_superuser` bool NOT NULL, `username` varchar(150) NOT NULL UNIQUE, `date_joined` datetime(6) NOT NULL)

CREATE TABLE `auth_group_permissions` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `group_id` integer NOT NULL, `permission_id` integer NOT NULL)

CREATE TABLE `django_session` (`session_key` varchar(40) NOT NULL PRIMARY KEY, `session_data` longtext NOT NULL, `expire_date` datetime(6) NOT NULL)

ALTER TABLE `django_content_type` ADD CONSTRAINT `django_content_type_app_label_model_76bd3d3b_uniq` UNIQUE (`app_label`, `model`)

ALTER TABLE `auth_permission` ADD CONSTRAINT `auth_permission_content_type_id_2f476e4b_fk` FOREIGN KEY (`content_type_id`) REFERENCES `django_content_type` (`id`)

CREATE INDEX `django_session_expire_date_a5c62663` ON `django_session` (`expire_date`)

ALTER TABLE `django_content_type` MODIFY `name` varchar(100) NULL

ALTER TABLE `django_content_type` DROP COLUMN `name`

ALTER TABLE `auth_permission` MODIFY `name` varchar(255) NOT NULL

ALTER TABLE `auth_user` MODIFY `id` bigint AUTO_INCREMENT NOT NULL

ALTER TABLE `shop_item` ADD COLUMN `price` numeric(8, 2) DEFAULT 0 NOT NULL

ALTER TABLE `shop_item` ALTER COLUMN `price` DROP DEFAULT

ALTER TABLE `shop_item` ADD COLUMN `seen` datetime(6) DEFAULT '2024-01-02 03:04:05.000006' NOT NULL

ALTER TABLE `shop_item` ADD COLUMN `active` bool DEFAULT b'1' NOT NULL

ALTER TABLE `shop_item` ADD COLUMN `token` char(32) DEFAULT '0123456789abcdef0123456789abcdef' NOT NULL

ALTER TABLE `shop_item` ADD COLUMN `data` json DEFAULT (_utf8mb4'{}') NOT NULL

ALTER TABLE `shop_item` ADD COLUMN `text` longtext DEFAULT ('') NOT NULL

ALTER TABLE `shop_item` ADD COLUMN `count` integer UNSIGNED DEFAULT 0 NOT NULL CHECK (`count` >= 0)

ALTER TABLE `shop_item` ADD COLUMN `owner_id` integer NOT NULL, ADD CONSTRAINT `shop_item_owner_id_fk` FOREIGN KEY (`owner_id`) REFERENCES `auth_user`(`id`)

ALTER TABLE `shop_item` ADD COLUMN `lower_name` varchar(100) GENERATED ALWAYS AS (LOWER(`name`)) STORED

ALTER TABLE `shop_item` ADD CONSTRAINT `price_positive` CHECK (`price` > 0 AND `price` < 1000)

ALTER TABLE `shop_item` DROP CHECK `price_positive`

ALTER TABLE `shop_item` DROP INDEX `shop_item_name_uniq`

CREATE INDEX `shop_item_upper` ON `shop_item` ((UPPER(`name`)))

ALTER TABLE `shop_item` CHANGE `name` `title` varchar(100) NOT NULL

ALTER TABLE `shop_item` RENAME TO `shop_product`

RENAME TABLE `shop_product` TO `shop_article`

ALTER TABLE `shop_article` MODIFY `title` varchar(200) COLLATE `utf8mb4_bin` NOT NULL

DROP TABLE `shop_article` CASCADE

CREATE TABLE `shop_tag` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `label` varchar(20) DEFAULT '' NOT NULL, `made` datetime(6) DEFAULT (CURRENT_TIMESTAMP(6)) NOT NULL, `uid` uuid NOT NULL)

ALTER TABLE `shop_tag` ADD COLUMN `duration` bigint DEFAULT 0 NOT NULL, ADD COLUMN `ip` char(39) NULL, ADD COLUMN `slug` varchar(50) NULL

CREATE UNIQUE INDEX `shop_tag_slug` ON `shop_tag` (`slug`)

SAVEPOINT `s1234_x1`

RELEASE SAVEPOINT `s1234_x1`
