What these applications send, in words of our own; each text behind == recorded counts.

## wordpress
CREATE TABLE wp_posts (ID bigint(20) unsigned NOT NULL auto_increment, post_author bigint(20) unsigned NOT NULL default '0', post_date datetime NOT NULL default '0000-00-00 00:00:00', post_content longtext NOT NULL, post_title text NOT NULL, post_status varchar(20) NOT NULL default 'publish', post_name varchar(200) NOT NULL default '', post_parent bigint(20) unsigned NOT NULL default '0', post_type varchar(20) NOT NULL default 'post', comment_count bigint(20) NOT NULL default '0', PRIMARY KEY (ID), KEY post_name (post_name(191)), KEY type_status_date (post_type,post_status,post_date,ID)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
;;
CREATE TABLE wp_postmeta (meta_id bigint(20) unsigned NOT NULL auto_increment, post_id bigint(20) unsigned NOT NULL default '0', meta_key varchar(255) default NULL, meta_value longtext, PRIMARY KEY (meta_id), KEY post_id (post_id), KEY meta_key (meta_key(191))) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
;;
CREATE TABLE wp_options (option_id bigint(20) unsigned NOT NULL auto_increment, option_name varchar(191) NOT NULL default '', option_value longtext NOT NULL, autoload varchar(20) NOT NULL default 'yes', PRIMARY KEY (option_id), UNIQUE KEY option_name (option_name), KEY autoload (autoload)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
;;
CREATE TABLE wp_terms (term_id bigint(20) unsigned NOT NULL auto_increment, name varchar(200) NOT NULL default '', slug varchar(200) NOT NULL default '', PRIMARY KEY (term_id), KEY slug (slug(191))) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
;;
CREATE TABLE wp_term_relationships (object_id bigint(20) unsigned NOT NULL default 0, term_taxonomy_id bigint(20) unsigned NOT NULL default 0, term_order int(11) NOT NULL default 0, PRIMARY KEY (object_id,term_taxonomy_id), KEY term_taxonomy_id (term_taxonomy_id)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
;;
CREATE TABLE wp_comments (comment_ID bigint(20) unsigned NOT NULL auto_increment, comment_post_ID bigint(20) unsigned NOT NULL default '0', comment_author tinytext NOT NULL, comment_date datetime NOT NULL default '0000-00-00 00:00:00', comment_content text NOT NULL, comment_approved varchar(20) NOT NULL default '1', PRIMARY KEY (comment_ID), KEY comment_post_ID (comment_post_ID)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
;;
INSERT INTO wp_posts (post_author, post_date, post_content, post_title, post_name, post_type) VALUES (1, '2024-01-02 03:04:05', 'Hello', 'Hello world!', 'hello-world', 'post'), (1, '2024-01-03 03:04:05', 'About', 'Sample', 'sample', 'page'), (2, '2024-02-03 03:04:05', 'More', 'More', 'more', 'post')
;;
INSERT INTO wp_postmeta (post_id, meta_key, meta_value) VALUES (1, '_edit_lock', '5'), (1, 'price', '10'), (3, 'price', '9')
;;
INSERT INTO wp_options (option_name, option_value) VALUES ('siteurl', 'http://x.org'), ('_transient_a', 'x')
;;
INSERT INTO wp_terms (name, slug) VALUES ('News', 'news'), ('Old', 'old')
;;
INSERT INTO wp_term_relationships VALUES (1, 1, 0), (3, 1, 0)
;;
INSERT INTO wp_comments (comment_post_ID, comment_author, comment_date, comment_content) VALUES (1, 'Ann', '2024-01-04 00:00:00', 'Hi')
== opening
SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION'
== recorded
SELECT option_name, option_value FROM wp_options WHERE autoload IN ( 'yes', 'on', 'auto-on', 'auto' )
;;
SELECT option_value FROM wp_options WHERE option_name = 'siteurl' LIMIT 1
;;
INSERT INTO `wp_options` (`option_name`, `option_value`, `autoload`) VALUES ('cron', 'a:1:{}', 'yes') ON DUPLICATE KEY UPDATE `option_name` = VALUES(`option_name`), `option_value` = VALUES(`option_value`), `autoload` = VALUES(`autoload`)
;;
UPDATE `wp_options` SET `option_value` = '1700000000' WHERE `option_name` = '_transient_a'
;;
SELECT SQL_CALC_FOUND_ROWS wp_posts.ID FROM wp_posts WHERE 1=1 AND ((wp_posts.post_type = 'post' AND (wp_posts.post_status = 'publish' OR wp_posts.post_status = 'private'))) ORDER BY wp_posts.post_date DESC LIMIT 0, 10
;;
SELECT wp_posts.* FROM wp_posts WHERE ID IN (1,3)
;;
SELECT post_id, meta_key, meta_value FROM wp_postmeta WHERE post_id IN (1,3) ORDER BY meta_id ASC
;;
SELECT DISTINCT t.term_id, tr.object_id FROM wp_terms AS t INNER JOIN wp_term_relationships AS tr ON tr.term_taxonomy_id = t.term_id WHERE tr.object_id IN (1, 3) ORDER BY t.name ASC
;;
SELECT wp_posts.ID FROM wp_posts INNER JOIN wp_postmeta ON ( wp_posts.ID = wp_postmeta.post_id ) WHERE 1=1 AND ( ( wp_postmeta.meta_key = 'price' AND CAST(wp_postmeta.meta_value AS SIGNED) > '9' ) ) AND wp_posts.post_type = 'post' GROUP BY wp_posts.ID ORDER BY wp_posts.post_date DESC LIMIT 0, 10
;;
SELECT YEAR(post_date) AS `year`, MONTH(post_date) AS `month`, count(ID) as posts FROM wp_posts WHERE post_type = 'post' AND post_status = 'publish' GROUP BY YEAR(post_date), MONTH(post_date) ORDER BY post_date DESC
;;
INSERT INTO `wp_posts` (`post_author`, `post_date`, `post_content`, `post_title`, `post_status`, `post_name`) VALUES (1, '2024-03-04 05:06:07', 'New', 'New', 'draft', '')
;;
INSERT INTO `wp_comments` (`comment_post_ID`, `comment_author`, `comment_content`) VALUES (1, 'Bob', 'Yes')
;;
UPDATE wp_posts SET comment_count = (SELECT COUNT(*) FROM wp_comments WHERE comment_post_ID = 1 AND comment_approved = '1') WHERE ID = 1
;;
SELECT post_status, COUNT( * ) AS num_posts FROM wp_posts WHERE post_type = 'post' GROUP BY post_status
;;
DELETE a, b FROM wp_options a, wp_options b WHERE a.option_name LIKE '\\_transient\\_%' AND a.option_name NOT LIKE '\\_transient\\_timeout\\_%' AND b.option_name = CONCAT( '_transient_timeout_', SUBSTRING( a.option_name, 12 ) ) AND b.option_value < 1700000000
;;
INSERT IGNORE INTO `wp_options` ( `option_name`, `option_value`, `autoload` ) VALUES ('core_updater.lock', '1700000000', 'no') /* LOCK */
;;
SELECT wp_posts.ID FROM wp_posts WHERE 1=1 AND (((wp_posts.post_title LIKE '%ello%') OR (wp_posts.post_content LIKE '%ello%'))) AND wp_posts.post_status = 'publish' ORDER BY wp_posts.post_title LIKE '%ello%' DESC, wp_posts.post_date DESC LIMIT 0, 10
;;
SELECT p.post_author, MAX(p.post_date) AS latest, p.post_title FROM wp_posts p GROUP BY p.post_author

## magento
CREATE TABLE customer_entity (entity_id int unsigned NOT NULL AUTO_INCREMENT COMMENT 'Entity ID', website_id smallint unsigned DEFAULT NULL, email varchar(255) DEFAULT NULL, is_active smallint unsigned NOT NULL DEFAULT 1, created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, updated_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (entity_id), UNIQUE KEY customer_email (email,website_id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='Customer'
;;
CREATE TABLE sales_order (entity_id int unsigned NOT NULL AUTO_INCREMENT, state varchar(32) DEFAULT NULL, customer_id int unsigned DEFAULT NULL, grand_total decimal(20,4) DEFAULT NULL, base_weight decimal(12,4) DEFAULT NULL, created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (entity_id), KEY (customer_id), CONSTRAINT so_customer FOREIGN KEY (customer_id) REFERENCES customer_entity (entity_id) ON DELETE SET NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
;;
CREATE TABLE cataloginventory_stock_item (item_id int unsigned NOT NULL AUTO_INCREMENT, product_id int unsigned NOT NULL DEFAULT 0, qty decimal(12,4) DEFAULT NULL, is_in_stock smallint unsigned NOT NULL DEFAULT 0, PRIMARY KEY (item_id), UNIQUE KEY (product_id)) ENGINE=InnoDB
;;
CREATE TABLE quote_item (item_id int unsigned NOT NULL AUTO_INCREMENT, quote_id int unsigned NOT NULL, product_type enum('simple','bundle','virtual') NOT NULL DEFAULT 'simple', flags set('gift','free') DEFAULT NULL, options json DEFAULT NULL, qty float NOT NULL DEFAULT 0, PRIMARY KEY (item_id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
;;
CREATE TABLE catalog_product_entity_varchar (value_id int NOT NULL AUTO_INCREMENT, attribute_id smallint unsigned NOT NULL DEFAULT 0, store_id smallint unsigned NOT NULL DEFAULT 0, entity_id int unsigned NOT NULL DEFAULT 0, value varchar(255) DEFAULT NULL, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id, store_id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
;;
CREATE TABLE sequence_order_1 (sequence_value int unsigned NOT NULL AUTO_INCREMENT, PRIMARY KEY (sequence_value)) ENGINE=InnoDB
;;
INSERT INTO customer_entity (website_id, email) VALUES (1, 'a@x.org'), (1, 'b@x.org')
;;
INSERT INTO sales_order (state, customer_id, grand_total, created_at) VALUES ('new', 1, 10.5, '2024-01-02 03:04:05'), ('complete', 2, 20, '2024-01-02 13:04:05')
;;
INSERT INTO cataloginventory_stock_item (product_id, qty, is_in_stock) VALUES (1, 10, 1), (2, 1, 1)
;;
INSERT INTO quote_item (quote_id, product_type, flags, options, qty) VALUES (1, 'simple', 'gift', '{"size": "L"}', 1), (1, 'bundle', NULL, NULL, 2)
;;
INSERT INTO catalog_product_entity_varchar (attribute_id, store_id, entity_id, value) VALUES (73, 0, 1, 'Shirt'), (73, 1, 1, 'Hemd'), (73, 0, 2, 'Hat')
== opening
SET SQL_MODE=''
== recorded
INSERT INTO `customer_entity` (`website_id`, `email`, `is_active`, `created_at`, `updated_at`) VALUES ('1', 'c@x.org', '1', '2024-02-03 04:05:06', '2024-02-03 04:05:06')
;;
UPDATE `customer_entity` SET `is_active` = '0' WHERE (`entity_id` = '2')
;;
UPDATE `cataloginventory_stock_item` SET `qty` = CASE `product_id` WHEN 1 THEN qty-1.0000 WHEN 2 THEN qty-1.0000 ELSE `qty` END, `is_in_stock` = IF(qty - 1 > 0, 1, 0) WHERE (product_id IN (1, 2))
;;
INSERT INTO `sequence_order_1` () VALUES ()
;;
SELECT `main_table`.*, `c`.`email` FROM `sales_order` AS `main_table` LEFT JOIN `customer_entity` AS `c` ON main_table.customer_id = c.entity_id WHERE (`main_table`.`state` IN('new', 'processing')) ORDER BY `main_table`.`created_at` DESC LIMIT 20
;;
SELECT DATE_FORMAT(created_at, '%Y-%m-%d') AS period, COUNT(entity_id) AS orders_count, SUM(IFNULL(grand_total, 0)) AS total FROM sales_order WHERE state NOT IN ('canceled') GROUP BY DATE_FORMAT(created_at, '%Y-%m-%d')
;;
INSERT INTO `quote_item` (`quote_id`, `product_type`, `flags`, `qty`) VALUES (2, 'virtual', 'gift,free', 3)
;;
SELECT `item_id`, `product_type`, JSON_UNQUOTE(JSON_EXTRACT(`options`, '$.size')) AS `size` FROM `quote_item` WHERE `quote_id` = 1 AND `product_type` = 'simple'
;;
SELECT `e`.`entity_id`, IF(at_name.value_id > 0, at_name.value, d.value) AS `name` FROM `catalog_product_entity_varchar` AS `d` INNER JOIN (SELECT DISTINCT entity_id FROM catalog_product_entity_varchar) AS `e` ON e.entity_id = d.entity_id LEFT JOIN `catalog_product_entity_varchar` AS `at_name` ON (`at_name`.`entity_id` = `e`.`entity_id`) AND (`at_name`.`attribute_id` = '73') AND (`at_name`.`store_id` = 1) WHERE d.store_id = 0 AND d.attribute_id = '73' ORDER BY e.entity_id
;;
INSERT INTO `catalog_product_entity_varchar` (`attribute_id`,`store_id`,`entity_id`,`value`) VALUES (73, 0, 1, 'Blouse'), (74, 0, 1, 'x') ON DUPLICATE KEY UPDATE `value` = VALUES(`value`)
;;
SELECT `product_id`, `qty` FROM `cataloginventory_stock_item` WHERE (product_id IN(1, 2)) FOR UPDATE
;;
SELECT GROUP_CONCAT(DISTINCT `state` ORDER BY `state` SEPARATOR ',') AS states, customer_id, MAX(grand_total) FROM sales_order GROUP BY customer_id WITH ROLLUP
