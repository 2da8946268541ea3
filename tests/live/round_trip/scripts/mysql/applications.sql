
## a WordPress-like blog
CREATE TABLE `wp_posts` (`ID` bigint(20) unsigned NOT NULL AUTO_INCREMENT, `post_author` bigint(20) unsigned NOT NULL DEFAULT 0, `post_date` datetime NOT NULL DEFAULT '2000-01-01 00:00:00', `post_content` longtext NOT NULL, `post_title` text NOT NULL, `post_status` varchar(20) NOT NULL DEFAULT 'publish', `comment_count` bigint(20) NOT NULL DEFAULT 0, PRIMARY KEY (`ID`), KEY `type_status_date` (`post_status`,`post_date`,`ID`))
;;
CREATE TABLE `wp_postmeta` (`meta_id` bigint(20) unsigned NOT NULL AUTO_INCREMENT, `post_id` bigint(20) unsigned NOT NULL DEFAULT 0, `meta_key` varchar(255) DEFAULT NULL, `meta_value` longtext, PRIMARY KEY (`meta_id`), KEY `post_id` (`post_id`), KEY `meta_key` (`meta_key`(191)))
;;
CREATE TABLE `wp_options` (`option_id` bigint(20) unsigned NOT NULL AUTO_INCREMENT, `option_name` varchar(191) NOT NULL DEFAULT '', `option_value` longtext NOT NULL, `autoload` varchar(20) NOT NULL DEFAULT 'yes', PRIMARY KEY (`option_id`), UNIQUE KEY `option_name` (`option_name`))
;;
INSERT INTO wp_posts (post_author, post_content, post_title) VALUES (1, 'Hello', 'First'), (1, 'World', 'Second')
;;
INSERT INTO wp_postmeta (post_id, meta_key, meta_value) VALUES (1, '_edit_lock', '1:1')
;;
INSERT INTO wp_options (option_name, option_value) VALUES ('siteurl', 'http://x')
== recorded
SELECT option_name, option_value FROM wp_options WHERE autoload = 'yes'
;;
SELECT wp_posts.ID FROM wp_posts WHERE 1=1 AND wp_posts.post_status = 'publish' ORDER BY wp_posts.post_date DESC, wp_posts.id LIMIT 0, 10
;;
-- params [1, "publish", "a new title"]
INSERT INTO `wp_posts` (`post_author`, `post_status`, `post_title`, `post_content`) VALUES (%s, %s, %s, '')
;;
INSERT INTO `wp_options` (`option_name`, `option_value`, `autoload`) VALUES ('cron', 'a:0:{}', 'no') ON DUPLICATE KEY UPDATE `option_name` = VALUES(`option_name`), `option_value` = VALUES(`option_value`), `autoload` = VALUES(`autoload`)
;;
UPDATE `wp_posts` SET `comment_count` = comment_count + 1 WHERE `ID` = 1
;;
SELECT post_id, meta_key, meta_value FROM wp_postmeta WHERE post_id IN (1,2) ORDER BY meta_id ASC
;;
SELECT p.ID, pm.Meta_Value FROM wp_posts p LEFT JOIN wp_postmeta pm ON (p.id = pm.post_id AND pm.meta_key = '_edit_lock') ORDER BY p.ID
;;
DELETE FROM `wp_postmeta` WHERE `meta_id` = 1
;;
SELECT COUNT(*) FROM wp_posts
## a Magento-like catalogue
CREATE TABLE `catalog_product_entity` (`entity_id` int(10) unsigned NOT NULL AUTO_INCREMENT, `sku` varchar(64) NOT NULL, `created_at` timestamp NOT NULL DEFAULT current_timestamp(), `has_options` smallint(6) NOT NULL DEFAULT 0, PRIMARY KEY (`entity_id`), KEY `CATALOG_PRODUCT_ENTITY_SKU` (`sku`))
;;
CREATE TABLE `catalog_product_entity_decimal` (`value_id` int(11) NOT NULL AUTO_INCREMENT, `attribute_id` smallint(5) unsigned NOT NULL DEFAULT 0, `entity_id` int(10) unsigned NOT NULL, `value` decimal(20,6) DEFAULT NULL, PRIMARY KEY (`value_id`), UNIQUE KEY `UNQ` (`entity_id`,`attribute_id`), CONSTRAINT `FK_CAT_PRD` FOREIGN KEY (`entity_id`) REFERENCES `catalog_product_entity` (`entity_id`) ON DELETE CASCADE)
;;
INSERT INTO catalog_product_entity (sku, created_at) VALUES ('A-1', '2024-01-02 03:04:05'), ('A-2', '2024-01-02 03:04:05')
;;
INSERT INTO catalog_product_entity_decimal (attribute_id, entity_id, value) VALUES (77, 1, 9.990000), (77, 2, NULL)
== recorded
SELECT `e`.*, `at_price`.`value` AS `price` FROM `catalog_product_entity` AS `e` INNER JOIN `catalog_product_entity_decimal` AS `at_price` ON (`at_price`.`entity_id` = `e`.`entity_id`) AND (`at_price`.`attribute_id` = '77') WHERE (at_price.value > 5)
;;
INSERT INTO `catalog_product_entity_decimal` (`attribute_id`,`entity_id`,`value`) VALUES (77, 2, '5.500000') ON DUPLICATE KEY UPDATE `value` = VALUES(`value`)
;;
UPDATE catalog_product_entity e JOIN catalog_product_entity_decimal d ON d.entity_id = e.entity_id SET e.has_options = 1 WHERE d.value < 6
;;
SELECT sku, has_options FROM catalog_product_entity ORDER BY SKU
;;
DELETE FROM `catalog_product_entity` WHERE `entity_id` = 2
;;
SELECT MIN(value), MAX(value), COUNT(*) FROM catalog_product_entity_decimal

## columns on update
CREATE TABLE parent (id INT PRIMARY KEY, v INT, at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)
;;
CREATE TABLE child (id INT PRIMARY KEY, p INT, name VARCHAR(20), v DECIMAL(8,2), at DATETIME(3) DEFAULT '2020-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP(3), CONSTRAINT c FOREIGN KEY (p) REFERENCES parent (id) ON UPDATE CASCADE ON DELETE SET NULL)
;;
INSERT INTO parent (id, v, at) VALUES (1, 1, '2020-01-01 00:00:00'), (2, 2, '2020-01-01 00:00:00')
;;
INSERT INTO child (id, p, name, v) VALUES (1, 1, 'a', 1), (2, 2, 'B', NULL), (3, 1, 'c', 3)
== recorded
UPDATE parent SET v = 1 WHERE id = 1
;;
SELECT * FROM parent ORDER BY id
;;
UPDATE parent SET v = v + 1
;;
SELECT id, v, at FROM parent ORDER BY id
;;
UPDATE child SET name = 'b', v = 1.00 WHERE id < 3
;;
UPDATE child SET name = 'c', v = 3 WHERE id = 3
;;
SELECT id, name, v, at FROM child ORDER BY id
;;
UPDATE child SET v = 5, at = at WHERE id = 3
;;
UPDATE child SET at = '2021-01-01 00:00:00' WHERE id = 2
;;
SELECT * FROM child ORDER BY id
;;
INSERT INTO parent (id, v) VALUES (2, 9) ON DUPLICATE KEY UPDATE v = VALUES(v)
;;
INSERT INTO parent (id, v) VALUES (2, 9) ON DUPLICATE KEY UPDATE v = VALUES(v)
;;
UPDATE parent SET id = 7 WHERE id = 1
;;
DELETE FROM parent WHERE id = 2
;;
SELECT * FROM child ORDER BY id
;;
SELECT * FROM parent ORDER BY id
