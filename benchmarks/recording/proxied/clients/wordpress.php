<?php
// What WordPress does: php wordpress.php FOLDER ADDRESS [setup], where FOLDER has wp-load.php and ADDRESS is host:port or localhost:/socket.
[, $folder, $address] = $argv;
$what = $argv[3] ?? 'use';
define('DB_NAME', 'shop');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', $address);
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('WP_SITEURL', 'http://localhost');
define('WP_HOME', 'http://localhost');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('ABSPATH', rtrim($folder, '/') . '/');
$table_prefix = 'wp_';
$_SERVER += ['HTTP_HOST' => 'localhost', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REQUEST_URI' => '/', 'REQUEST_METHOD' => 'GET', 'REMOTE_ADDR' => '127.0.0.1'];
if ($what === 'setup') {
    define('WP_INSTALLING', true);
}
require ABSPATH . 'wp-settings.php';
if ($what === 'setup') {
    require_once ABSPATH . 'wp-admin/includes/upgrade.php';
    add_filter('pre_wp_mail', '__return_true');
    wp_install('Shop', 'admin', 'admin@example.org', true, '', 'secret');
    exit(0);
}
wp_set_current_user(1);
$category = wp_insert_term('News', 'category');
for ($n = 0; $n < 5; $n++) {
    $post = wp_insert_post(['post_title' => "Post $n", 'post_content' => "It's the $n. \\ post", 'post_status' => 'publish', 'post_category' => [is_array($category) ? $category['term_id'] : 1]]);
    update_post_meta($post, 'colour', "c$n");
    wp_set_post_tags($post, ['a', "b$n"]);
    $comment = wp_insert_comment(['comment_post_ID' => $post, 'comment_author' => 'Me', 'comment_content' => 'Yes', 'comment_approved' => 1]);
    wp_update_post(['ID' => $post, 'post_title' => "Post $n again"]);
}
wp_delete_comment($comment, true);
wp_trash_post($post);
update_option('blogname', 'Shop again');
set_transient('t', 'v', 60);
$user = wp_create_user('me', 'secret', 'me@example.org');
update_user_meta($user, 'first_name', 'Me');
foreach ([['posts_per_page' => 3], ['s' => 'post'], ['tag' => 'a'], ['meta_key' => 'colour', 'orderby' => 'meta_value']] as $asked) {
    $found = new WP_Query($asked);
    foreach ($found->posts as $one) {
        get_comments(['post_id' => $one->ID]);
        wp_get_post_terms($one->ID, 'category');
    }
}
get_terms(['taxonomy' => 'post_tag', 'hide_empty' => false]);
wp_count_posts();
