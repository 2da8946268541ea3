-- A nickname that is taken, or a region that does not exist, gives 0 and writes nothing.
CREATE PROCEDURE register_user(p_id INT, p_first VARCHAR(20), p_last VARCHAR(20), p_nick VARCHAR(20), p_region VARCHAR(25),
    p_created BIGINT)
BEGIN
    DECLARE l_region INT;
    DECLARE l_done INT DEFAULT 0;
    SELECT id INTO l_region FROM regions WHERE name = p_region;
    IF l_region IS NOT NULL AND NOT EXISTS (SELECT 1 FROM users WHERE nickname = p_nick)
            AND NOT EXISTS (SELECT 1 FROM users WHERE id = p_id) THEN
        INSERT INTO users (id, first_name, last_name, nickname, password, email, balance, created, region)
            VALUES (p_id, p_first, p_last, p_nick, concat('password', p_id), concat(p_nick, '@rubis.com'),
                p_id * 2241215.1241, p_created, l_region);
        INSERT INTO ratings (user_id, rating) VALUES (p_id, p_id % 5);
        SET l_done = 1;
    END IF;
    SELECT l_done;
END
//
CREATE PROCEDURE register_item(p_id INT, p_seller INT, p_name VARCHAR(100), p_price DECIMAL(10,2), p_quantity INT, p_step INT,
    p_category INT)
BEGIN
    DECLARE l_nick VARCHAR(20);
    SELECT nickname INTO l_nick FROM users WHERE id = p_seller;
    IF l_nick IS NOT NULL THEN
        INSERT INTO items (id, name, description, initial_price, quantity, reserve_price, buy_now, nb_of_bids, max_bid, seller,
            category) VALUES (p_id, p_name, concat('by ', l_nick), p_price, p_quantity, p_price + p_step, p_price, 0, 10, p_seller,
            p_category);
    END IF;
    SELECT l_nick;
END
//
CREATE PROCEDURE store_buy_now(p_id INT, p_buyer INT, p_item INT, p_qty INT)
BEGIN
    DECLARE l_left INT;
    SELECT quantity - p_qty INTO l_left FROM items WHERE id = p_item FOR UPDATE;
    IF l_left IS NOT NULL THEN
        UPDATE items SET quantity = l_left WHERE id = p_item;
        INSERT INTO buy_now (id, buyer, item, qty) VALUES (p_id, p_buyer, p_item, p_qty);
    END IF;
    SELECT l_left;
END
//
-- The rating is set without having been read.
CREATE PROCEDURE store_comment(p_id INT, p_from INT, p_to INT, p_item INT, p_comment VARCHAR(200))
BEGIN
    INSERT INTO comments (id, from_user, to_user, item, rating, comment) VALUES (p_id, p_from, p_to, p_item, p_id % 5, p_comment);
    IF EXISTS (SELECT 1 FROM users WHERE id = p_to) THEN
        UPDATE ratings SET rating = p_id % 5 WHERE user_id = p_to;
    END IF;
END
//
-- Twelve items of a category with their sellers' ratings, then five items and three ratings.
CREATE PROCEDURE random_browse(p_category INT, p_from INT, p_i1 INT, p_i2 INT, p_i3 INT, p_i4 INT, p_i5 INT, p_r1 INT, p_r2 INT,
    p_r3 INT)
BEGIN
    SELECT i.id, i.name, i.buy_now, i.quantity, r.rating FROM items i LEFT JOIN ratings r ON r.user_id = i.seller
        WHERE i.category = p_category AND i.id >= p_from ORDER BY i.id LIMIT 12;
    SELECT id, name, buy_now, quantity FROM items WHERE id IN (p_i1, p_i2, p_i3, p_i4, p_i5) ORDER BY id;
    SELECT user_id, rating FROM ratings WHERE user_id IN (p_r1, p_r2, p_r3) ORDER BY user_id;
END
