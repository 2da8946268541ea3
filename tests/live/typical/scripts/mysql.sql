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

## wordpress (a shop)
CREATE TABLE wp_users (ID bigint(20) unsigned NOT NULL auto_increment, user_login varchar(60) NOT NULL default '', user_email varchar(100) NOT NULL default '', user_registered datetime NOT NULL default '0000-00-00 00:00:00', user_status int(11) NOT NULL default '0', display_name varchar(250) NOT NULL default '', PRIMARY KEY (ID), KEY user_login_key (user_login)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
;;
CREATE TABLE wp_usermeta (umeta_id bigint(20) unsigned NOT NULL auto_increment, user_id bigint(20) unsigned NOT NULL default '0', meta_key varchar(255) default NULL, meta_value longtext, PRIMARY KEY (umeta_id), KEY user_id (user_id), KEY meta_key (meta_key(191))) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
;;
CREATE TABLE wp_posts (ID bigint(20) unsigned NOT NULL auto_increment, post_author bigint(20) unsigned NOT NULL default '0', post_date datetime NOT NULL default '0000-00-00 00:00:00', post_modified datetime NOT NULL default '0000-00-00 00:00:00', post_title text NOT NULL, post_excerpt text NOT NULL, post_status varchar(20) NOT NULL default 'publish', post_name varchar(200) NOT NULL default '', post_type varchar(20) NOT NULL default 'post', menu_order int(11) NOT NULL default '0', comment_count bigint(20) NOT NULL default '0', PRIMARY KEY (ID)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
;;
CREATE TABLE wp_term_taxonomy (term_taxonomy_id bigint(20) unsigned NOT NULL auto_increment, term_id bigint(20) unsigned NOT NULL default 0, taxonomy varchar(32) NOT NULL default '', description longtext NOT NULL, parent bigint(20) unsigned NOT NULL default 0, count bigint(20) NOT NULL default 0, PRIMARY KEY (term_taxonomy_id), UNIQUE KEY term_id_taxonomy (term_id,taxonomy)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
;;
CREATE TABLE wp_wc_order_stats (order_id bigint(20) unsigned NOT NULL, parent_id bigint(20) unsigned DEFAULT 0 NOT NULL, date_created datetime DEFAULT '0000-00-00 00:00:00' NOT NULL, num_items_sold int(11) DEFAULT 0 NOT NULL, total_sales double DEFAULT 0 NOT NULL, net_total double DEFAULT 0 NOT NULL, returning_customer tinyint(1) DEFAULT NULL, status varchar(200) NOT NULL, PRIMARY KEY (order_id), KEY date_created (date_created)) DEFAULT CHARACTER SET utf8mb4
;;
CREATE TABLE wp_actionscheduler_actions (action_id bigint(20) unsigned NOT NULL auto_increment, hook varchar(191) NOT NULL, status varchar(20) NOT NULL, scheduled_date_gmt datetime NULL default '0000-00-00 00:00:00', args varchar(191), attempts int(11) NOT NULL DEFAULT 0, claim_id bigint(20) unsigned NOT NULL default '0', PRIMARY KEY (action_id)) DEFAULT CHARACTER SET utf8mb4
;;
INSERT INTO wp_users (user_login, user_email, user_registered, display_name) VALUES ('admin', 'admin@x.org', '2024-01-01 00:00:00', 'Admin'), ('ann', 'ann@x.org', '2024-01-05 10:00:00', 'Ann')
;;
INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (1, 'wp_capabilities', 'a:1:{s:13:"administrator";b:1;}'), (2, 'wp_capabilities', 'a:1:{s:10:"subscriber";b:1;}'), (2, 'nickname', 'ann')
;;
INSERT INTO wp_posts (post_author, post_date, post_title, post_excerpt, post_name, post_type, menu_order) VALUES (1, '2024-01-02 03:04:05', 'Mug', '', 'mug', 'product', 2), (1, '2024-02-02 03:04:05', 'Cap', 'A cap', 'cap', 'product', 1), (2, '2024-02-05 03:04:05', 'Note', '', 'note', 'post', 0)
;;
INSERT INTO wp_term_taxonomy (term_id, taxonomy, description, count) VALUES (1, 'category', '', 1), (2, 'product_cat', '', 2)
;;
INSERT INTO wp_wc_order_stats VALUES (10, 0, '2024-01-05 10:00:00', 2, 20.5, 18, 0, 'wc-completed'), (11, 0, '2024-01-06 10:00:00', 1, 9.99, 9, 1, 'wc-processing')
;;
INSERT INTO wp_actionscheduler_actions (hook, status, scheduled_date_gmt, args) VALUES ('send', 'pending', '2024-01-01 00:00:00', '[]'), ('sync', 'pending', '2024-01-02 00:00:00', '[1]')
== opening
SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION'
== recorded
SELECT * FROM wp_users WHERE user_login = 'ADMIN' LIMIT 1
;;
SELECT umeta_id FROM wp_usermeta WHERE meta_key = 'nickname' AND user_id = 2
;;
INSERT INTO `wp_usermeta` (`user_id`, `meta_key`, `meta_value`) VALUES (1, 'session_tokens', 'a:0:{}')
;;
UPDATE `wp_usermeta` SET `meta_value` = '1' WHERE `user_id` = 2 AND `meta_key` = 'nickname'
;;
SELECT SQL_CALC_FOUND_ROWS wp_users.ID,wp_users.display_name FROM wp_users INNER JOIN wp_usermeta ON ( wp_users.ID = wp_usermeta.user_id ) WHERE 1=1 AND ( ( ( ( wp_usermeta.meta_key = 'wp_capabilities' AND wp_usermeta.meta_value LIKE '%\"subscriber\"%' ) ) ) ) ORDER BY display_name ASC LIMIT 0, 20
;;
SELECT FOUND_ROWS()
;;
SELECT COUNT(NULLIF(`meta_value` LIKE '%\"administrator\"%', false)), COUNT(NULLIF(`meta_value` LIKE '%\"subscriber\"%', false)), COUNT(NULLIF(`meta_value` = 'a:0:{}', false)), COUNT(*) FROM wp_usermeta INNER JOIN wp_users ON user_id = ID WHERE meta_key = 'wp_capabilities'
;;
SELECT p.ID, p.post_title FROM wp_posts AS p WHERE p.post_date < '2024-02-03 00:00:00' AND p.post_type = 'product' AND ( p.post_status = 'publish' ) ORDER BY p.post_date DESC LIMIT 1
;;
UPDATE wp_term_taxonomy SET count = count + 1 WHERE term_taxonomy_id IN (1, 2)
;;
SELECT DISTINCT YEAR( post_date ) AS year, MONTH( post_date ) AS month FROM wp_posts WHERE post_type = 'product' AND post_status != 'auto-draft' ORDER BY post_date DESC
;;
SELECT SUM(num_items_sold) AS items, SUM(total_sales) AS gross, COUNT(*) AS orders, DATE_FORMAT(date_created, '%Y-%m-%d') AS time_interval, ABS(SUM(CASE WHEN net_total < 0 THEN net_total ELSE 0 END)) AS refunds FROM wp_wc_order_stats WHERE date_created <= '2024-01-31 23:59:59' AND ( status NOT IN ( 'wc-trash','wc-pending' ) ) GROUP BY time_interval ORDER BY time_interval ASC
;;
UPDATE wp_actionscheduler_actions SET claim_id = 7, status = 'in-progress' WHERE claim_id = 0 AND scheduled_date_gmt <= '2024-01-31 00:00:00' AND status = 'pending' ORDER BY attempts ASC, scheduled_date_gmt ASC, action_id ASC LIMIT 25
;;
SELECT a.action_id FROM wp_actionscheduler_actions a WHERE 1=1 AND a.hook='send' AND a.status IN ('pending', 'in-progress') AND (a.args = '[]' OR a.args = MD5('[]')) ORDER BY scheduled_date_gmt ASC LIMIT 0, 1
;;
INSERT INTO `wp_wc_order_stats` (`order_id`, `parent_id`, `date_created`, `num_items_sold`, `total_sales`, `net_total`, `returning_customer`, `status`) VALUES (12, 0, '2024-01-07 00:00:00', 1, 5, 5, NULL, 'wc-on-hold') ON DUPLICATE KEY UPDATE total_sales = VALUES(total_sales)
;;
REPLACE INTO wp_wc_order_stats (order_id, date_created, status, total_sales) VALUES (11, '2024-01-06 10:00:00', 'wc-completed', 9.99)
;;
SELECT post_status, COUNT( * ) AS num_posts FROM wp_posts WHERE post_type = 'product' AND (post_status != 'private' OR ( post_author = 1 AND post_status = 'private' )) GROUP BY post_status
;;
SELECT ID, post_name FROM wp_posts WHERE post_name LIKE 'ca%' OR FIND_IN_SET( post_name, 'mug,note' ) > 0 ORDER BY FIELD( ID, 3, 1, 2 )
;;
DELETE FROM wp_usermeta WHERE user_id NOT IN (SELECT ID FROM wp_users)
;;
UPDATE wp_posts SET menu_order = menu_order + 1, post_modified = '2024-03-04 05:06:07' WHERE post_type = 'product' AND menu_order >= 1 ORDER BY menu_order DESC
;;
INSERT INTO `wp_posts` (`post_author`, `post_title`, `post_type`) VALUES (1, 'Draft', 'post')
;;
SELECT wp_posts.ID, CONCAT_WS( ' ', post_title, NULLIF( post_excerpt, '' ) ) AS t, IFNULL( CHAR_LENGTH( post_excerpt ), 0 ) AS l, LEFT( post_title, 2 ), UPPER( SUBSTRING( post_title, 2 ) ) FROM wp_posts ORDER BY RAND() LIMIT 3
;;
SELECT ID, DATEDIFF( '2024-03-01', post_date ) AS d, UNIX_TIMESTAMP( post_date ) AS u, DATE_ADD( post_date, INTERVAL 1 DAY ) AS n, HOUR( post_date ) AS h, DAYNAME( post_date ) AS w FROM wp_posts WHERE post_date BETWEEN DATE_SUB( '2024-02-10', INTERVAL 1 MONTH ) AND '2024-02-10'
;;
SELECT t.term_id, GROUP_CONCAT( p.post_title ORDER BY p.ID SEPARATOR ', ' ) FROM wp_term_taxonomy t LEFT JOIN wp_posts p ON p.ID <= t.term_id GROUP BY t.term_id HAVING COUNT(p.ID) >= 1
;;
SELECT option.x FROM ( SELECT 1 AS x UNION ALL SELECT 2 ) AS `option` WHERE option.x REGEXP '^[0-9]+$'

## magento (catalog and sales)
CREATE TABLE catalog_product_entity (entity_id int unsigned NOT NULL AUTO_INCREMENT, type_id varchar(32) NOT NULL DEFAULT 'simple', sku varchar(64) NOT NULL, has_options smallint NOT NULL DEFAULT 0, created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, updated_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (entity_id), UNIQUE KEY sku (sku)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
;;
CREATE TABLE catalog_product_entity_decimal (value_id int NOT NULL AUTO_INCREMENT, attribute_id smallint unsigned NOT NULL DEFAULT 0, store_id smallint unsigned NOT NULL DEFAULT 0, entity_id int unsigned NOT NULL DEFAULT 0, value decimal(20,6) DEFAULT NULL, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id, store_id), CONSTRAINT cped FOREIGN KEY (entity_id) REFERENCES catalog_product_entity (entity_id) ON DELETE CASCADE) ENGINE=InnoDB
;;
CREATE TABLE quote (entity_id int unsigned NOT NULL AUTO_INCREMENT, store_id smallint unsigned NOT NULL DEFAULT 0, is_active smallint unsigned DEFAULT 1, items_qty decimal(12,4) DEFAULT 0.0000, grand_total decimal(20,4) DEFAULT 0.0000, customer_is_guest smallint unsigned DEFAULT 0, gift enum('none','wrap','card') NOT NULL DEFAULT 'none', updated_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (entity_id)) ENGINE=InnoDB
;;
CREATE TABLE sales_order_grid (entity_id int unsigned NOT NULL, status varchar(32) DEFAULT NULL, store_name varchar(255) DEFAULT NULL, base_grand_total decimal(20,4) DEFAULT NULL, created_at timestamp NULL DEFAULT NULL, updated_at timestamp NULL DEFAULT NULL, PRIMARY KEY (entity_id)) ENGINE=InnoDB
;;
CREATE TABLE cron_schedule (schedule_id int unsigned NOT NULL AUTO_INCREMENT, job_code varchar(255) NOT NULL DEFAULT '0', status varchar(7) NOT NULL DEFAULT 'pending', messages text, scheduled_at timestamp NULL DEFAULT NULL, executed_at timestamp NULL DEFAULT NULL, PRIMARY KEY (schedule_id)) ENGINE=InnoDB
;;
CREATE TABLE core_config_data (config_id int unsigned NOT NULL AUTO_INCREMENT, scope varchar(8) NOT NULL DEFAULT 'default', scope_id int NOT NULL DEFAULT 0, path varchar(255) NOT NULL DEFAULT 'general', value text, PRIMARY KEY (config_id), UNIQUE KEY (scope, scope_id, path)) ENGINE=InnoDB
;;
CREATE TABLE inventory_reservation (reservation_id int unsigned NOT NULL AUTO_INCREMENT, stock_id int unsigned NOT NULL, sku varchar(64) NOT NULL, quantity decimal(10,4) NOT NULL DEFAULT 0.0000, metadata varchar(255) DEFAULT NULL, PRIMARY KEY (reservation_id)) ENGINE=InnoDB
;;
CREATE TABLE url_rewrite (url_rewrite_id int unsigned NOT NULL AUTO_INCREMENT, entity_type varchar(32) NOT NULL, request_path varchar(255) DEFAULT NULL, redirect_type smallint unsigned NOT NULL DEFAULT 0, metadata json DEFAULT NULL, PRIMARY KEY (url_rewrite_id)) ENGINE=InnoDB
;;
INSERT INTO catalog_product_entity (sku, created_at, updated_at) VALUES ('mug-1', '2024-01-01 00:00:00', '2024-01-01 00:00:00'), ('cap-1', '2024-01-01 00:00:00', '2024-01-01 00:00:00')
;;
INSERT INTO catalog_product_entity_decimal (attribute_id, entity_id, value) VALUES (77, 1, 12.5), (77, 2, 8), (78, 1, 0.3)
;;
INSERT INTO quote (store_id, items_qty, grand_total, updated_at) VALUES (1, 2, 25, '2024-01-01 00:00:00'), (1, 1, 8, '2024-01-02 00:00:00')
;;
INSERT INTO sales_order_grid VALUES (1, 'pending', 'Main', 25, '2024-01-01 10:00:00', '2024-01-01 10:00:00')
;;
INSERT INTO cron_schedule (job_code, scheduled_at) VALUES ('reindex', '2024-01-01 00:00:00'), ('mail', '2024-01-01 00:05:00')
;;
INSERT INTO core_config_data (path, value) VALUES ('web/url', 'http://x/')
;;
INSERT INTO inventory_reservation (stock_id, sku, quantity, metadata) VALUES (1, 'mug-1', -1, '{"event_type":"order_placed","object_id":"1"}')
;;
INSERT INTO url_rewrite (entity_type, request_path, metadata) VALUES ('product', 'mug.html', '{"category_id": "3"}'), ('product', 'cap.html', NULL)
== opening
SET SQL_MODE=''
== recorded
SELECT `e`.*, `at_price`.`value` AS `price` FROM `catalog_product_entity` AS `e` INNER JOIN `catalog_product_entity_decimal` AS `at_price` ON (`at_price`.`entity_id` = `e`.`entity_id`) AND (`at_price`.`attribute_id` = '77') AND (`at_price`.`store_id` = 0) WHERE (at_price.value > '10') ORDER BY `price` ASC LIMIT 20
;;
SELECT MIN(value) AS min, MAX(value) AS max, COUNT(DISTINCT entity_id) AS n, FLOOR((value - 0.001) / 10) + 1 AS `range` FROM catalog_product_entity_decimal WHERE attribute_id = 77 GROUP BY `range` ORDER BY `range`
;;
INSERT INTO `core_config_data` (`scope`, `scope_id`, `path`, `value`) VALUES ('default', 0, 'web/url', 'https://x/') ON DUPLICATE KEY UPDATE `value` = VALUES(`value`)
;;
UPDATE `quote` SET `items_qty` = '3', `grand_total` = '33.0000', `updated_at` = '2024-02-03 04:05:06' WHERE (`entity_id`='1')
;;
UPDATE `quote` SET `is_active` = 0 WHERE entity_id = 2
;;
INSERT INTO `quote` (`store_id`, `gift`, `customer_is_guest`) VALUES ('1', 'wrap', '1')
;;
SELECT `quote`.* FROM `quote` WHERE (`quote`.`gift` = 'none') AND (is_active = 1)
;;
UPDATE `cron_schedule` SET `status` = 'running', `executed_at` = '2024-01-01 00:01:00' WHERE (status = 'pending' AND schedule_id = 1)
;;
DELETE FROM `cron_schedule` WHERE (status IN ('success','missed')) AND (scheduled_at < '2024-01-02')
;;
SELECT `main_table`.* FROM `sales_order_grid` AS `main_table` WHERE (((`main_table`.`created_at` >= '2024-01-01 00:00:00'))) AND (`store_name` LIKE '%ain%') ORDER BY created_at DESC, entity_id DESC LIMIT 20
;;
INSERT INTO `sales_order_grid` (`entity_id`, `status`, `base_grand_total`) SELECT `q`.`entity_id` + 100 AS `entity_id`, 'new', ROUND(`q`.`grand_total`, 2) FROM `quote` AS `q` WHERE `q`.`is_active` = 1 ON DUPLICATE KEY UPDATE `status` = VALUES(`status`)
;;
SELECT `sku`, SUM(`quantity`) AS `quantity` FROM `inventory_reservation` WHERE (`stock_id` = 1) AND (sku IN ('mug-1')) GROUP BY `sku` HAVING SUM(quantity) <> 0
;;
SELECT GROUP_CONCAT(reservation_id) AS ids FROM inventory_reservation GROUP BY stock_id, sku, JSON_EXTRACT(metadata, '$.object_id') HAVING SUM(quantity) = 0
;;
SELECT `request_path`, JSON_EXTRACT(`metadata`, '$.category_id') AS c, JSON_VALID(`metadata`) AS v FROM `url_rewrite` WHERE JSON_CONTAINS(`metadata`, '"3"', '$.category_id')
;;
SELECT COUNT(DISTINCT e.entity_id) FROM `catalog_product_entity` AS `e` LEFT JOIN `catalog_product_entity_decimal` AS `d` ON d.entity_id = e.entity_id AND d.attribute_id = 78 WHERE d.value_id IS NULL
;;
INSERT IGNORE INTO `catalog_product_entity` (`sku`, `type_id`) VALUES ('mug-1', 'simple'), ('hat-1', 'configurable')
;;
INSERT INTO `catalog_product_entity` (`sku`, `has_options`) VALUES ('a-very-long', 'x')
;;
DELETE `d` FROM `catalog_product_entity_decimal` AS `d` INNER JOIN `catalog_product_entity` AS `e` ON e.entity_id = d.entity_id WHERE e.sku = 'cap-1' AND d.attribute_id IN (77)
;;
UPDATE `catalog_product_entity_decimal` AS `a` INNER JOIN `catalog_product_entity` AS `e` ON e.entity_id = a.entity_id SET a.value = a.value * 1.1 WHERE e.sku LIKE 'mug%' AND a.attribute_id = 77
;;
SELECT DATE_FORMAT(created_at, '%Y-%m') AS period, store_name, SUM(base_grand_total) AS total, COUNT(*) AS c FROM sales_order_grid GROUP BY DATE_FORMAT(created_at, '%Y-%m'), store_name WITH ROLLUP
;;
SELECT @@session.auto_increment_increment
;;
SELECT `value` FROM `core_config_data` WHERE (`path` = 'web/url') AND (`scope` = 'default') FOR UPDATE
;;
SELECT IF(q.is_active = 1 AND q.items_qty > 0, 'cart', 'empty') AS k, COALESCE(NULLIF(q.store_id, 0), -1) AS s, CAST(q.grand_total AS UNSIGNED) AS g, TRUNCATE(q.grand_total / 3, 2) AS t, CRC32('x') AS c, LPAD(q.entity_id, 9, '0') AS n FROM quote q ORDER BY q.entity_id
