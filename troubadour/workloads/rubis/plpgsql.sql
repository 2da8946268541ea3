-- A nickname that is taken, or a region that does not exist, gives 0 and writes nothing.
CREATE FUNCTION register_user(p_id int, p_first text, p_last text, p_nick text, p_region text, p_created bigint)
RETURNS TABLE (done int) LANGUAGE plpgsql AS $$
DECLARE
    l_region int;
BEGIN
    done := 0;
    SELECT r.id INTO l_region FROM regions r WHERE r.name = p_region;
    IF FOUND AND NOT EXISTS (SELECT 1 FROM users u WHERE u.nickname = p_nick)
            AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = p_id) THEN
        INSERT INTO users (id, first_name, last_name, nickname, password, email, balance, created, region)
            VALUES (p_id, p_first, p_last, p_nick, 'password' || p_id, p_nick || '@rubis.com', p_id * 2241215.1241, p_created,
                l_region);
        INSERT INTO ratings (user_id, rating) VALUES (p_id, p_id % 5);
        done := 1;
    END IF;
    RETURN NEXT;
END $$;

CREATE FUNCTION register_item(p_id int, p_seller int, p_name text, p_price numeric, p_quantity int, p_step int, p_category int)
RETURNS TABLE (seller_name text) LANGUAGE plpgsql AS $$
BEGIN
    SELECT u.nickname INTO seller_name FROM users u WHERE u.id = p_seller;
    IF FOUND THEN
        INSERT INTO items (id, name, description, initial_price, quantity, reserve_price, buy_now, nb_of_bids, max_bid, seller,
            category) VALUES (p_id, p_name, 'by ' || seller_name, p_price, p_quantity, p_price + p_step, p_price, 0, 10, p_seller,
            p_category);
        RETURN NEXT;
    END IF;
END $$;

CREATE FUNCTION store_buy_now(p_id int, p_buyer int, p_item int, p_qty int) RETURNS TABLE (remaining int) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE items SET quantity = quantity - p_qty WHERE id = p_item RETURNING quantity INTO remaining;
    IF FOUND THEN
        INSERT INTO buy_now (id, buyer, item, qty) VALUES (p_id, p_buyer, p_item, p_qty);
        RETURN NEXT;
    END IF;
END $$;

-- The rating is set without having been read.
CREATE PROCEDURE store_comment(p_id int, p_from int, p_to int, p_item int, p_comment text) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO comments (id, from_user, to_user, item, rating, comment) VALUES (p_id, p_from, p_to, p_item, p_id % 5, p_comment);
    PERFORM 1 FROM users WHERE id = p_to;
    IF FOUND THEN
        UPDATE ratings SET rating = p_id % 5 WHERE user_id = p_to;
    END IF;
END $$;

-- Twelve items of a category with their sellers' ratings, then five items and three ratings.
CREATE FUNCTION random_browse(p_category int, p_from int, p_i1 int, p_i2 int, p_i3 int, p_i4 int, p_i5 int, p_r1 int, p_r2 int,
    p_r3 int)
RETURNS TABLE (kind int, id int, name text, price numeric, quantity int, rating int) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT 1, i.id, i.name::text, i.buy_now, i.quantity, r.rating
        FROM items i LEFT JOIN ratings r ON r.user_id = i.seller
        WHERE i.category = p_category AND i.id >= p_from ORDER BY i.id LIMIT 12;
    RETURN QUERY SELECT 2, i.id, i.name::text, i.buy_now, i.quantity, NULL::int
        FROM items i WHERE i.id IN (p_i1, p_i2, p_i3, p_i4, p_i5) ORDER BY i.id;
    RETURN QUERY SELECT 3, r.user_id, NULL::text, NULL::numeric, NULL::int, r.rating
        FROM ratings r WHERE r.user_id IN (p_r1, p_r2, p_r3) ORDER BY r.user_id;
END $$;
