-- TPC-C's five transactions in SQL/PSM, after clauses 2.4 to 2.8 of the specification. A new order's lines are a text of
-- twelve digits for each: item 6, supplying warehouse 4, quantity 2. Clocks are given by the caller.
CREATE PROCEDURE new_order_tx(p_w INT, p_d INT, p_c INT, p_lines VARCHAR(200), p_now BIGINT)
BEGIN
    DECLARE l_count INT DEFAULT length(p_lines) DIV 12;
    DECLARE l_local INT DEFAULT 1;
    DECLARE n INT DEFAULT 0;
    DECLARE l_order, l_item, l_supply, l_quantity, l_stock INT;
    DECLARE l_discount, l_w_tax, l_d_tax DECIMAL(4,4);
    DECLARE l_price DECIMAL(5,2);
    DECLARE l_amount DECIMAL(6,2);
    DECLARE l_total DECIMAL(12,2) DEFAULT 0;
    DECLARE l_dist VARCHAR(24);
    SELECT c_discount, w_tax INTO l_discount, l_w_tax
        FROM warehouse, customer WHERE w_id = p_w AND c_w_id = w_id AND c_d_id = p_d AND c_id = p_c;
    SELECT d_next_o_id, d_tax INTO l_order, l_d_tax FROM district WHERE d_w_id = p_w AND d_id = p_d FOR UPDATE;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d;
    WHILE n < l_count DO
        SET n = n + 1;
        IF CAST(substring(p_lines, 12 * n - 5, 4) AS SIGNED) <> p_w THEN
            SET l_local = 0;
        END IF;
    END WHILE;
    INSERT INTO orders VALUES (p_w, p_d, l_order, p_c, p_now, NULL, l_count, l_local);
    INSERT INTO new_order VALUES (p_w, p_d, l_order);
    SET n = 0;
    WHILE n < l_count DO
        SET n = n + 1;
        SET l_item = CAST(substring(p_lines, 12 * n - 11, 6) AS SIGNED);
        SET l_supply = CAST(substring(p_lines, 12 * n - 5, 4) AS SIGNED);
        SET l_quantity = CAST(substring(p_lines, 12 * n - 1, 2) AS SIGNED);
        SET l_price = NULL;
        SELECT i_price INTO l_price FROM item WHERE i_id = l_item;
        IF l_price IS NULL THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'item not found';
        END IF;
        SELECT s_quantity, CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                ELSE s_dist_10 END
            INTO l_stock, l_dist FROM stock WHERE s_w_id = l_supply AND s_i_id = l_item FOR UPDATE;
        IF l_stock >= l_quantity + 10 THEN
            SET l_stock = l_stock - l_quantity;
        ELSE
            SET l_stock = l_stock - l_quantity + 91;
        END IF;
        UPDATE stock SET s_quantity = l_stock, s_ytd = s_ytd + l_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN l_supply <> p_w THEN 1 ELSE 0 END
            WHERE s_w_id = l_supply AND s_i_id = l_item;
        SET l_amount = l_quantity * l_price, l_total = l_total + l_amount;
        INSERT INTO order_line VALUES (p_w, p_d, l_order, n, l_item, l_supply, NULL, l_quantity, l_amount, l_dist);
    END WHILE;
    SELECT l_order, round(l_total * (1 - l_discount) * (1 + l_w_tax + l_d_tax), 2);
END
//
CREATE FUNCTION customer_by_name(p_w INT, p_d INT, p_last VARCHAR(16)) RETURNS INT READS SQL DATA
BEGIN
    DECLARE l_count, l_id INT;
    DECLARE by_name CURSOR FOR SELECT c_id FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
        ORDER BY c_first, c_id;
    SELECT count(*) INTO l_count FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
    IF l_count = 0 THEN
        SIGNAL SQLSTATE '45000';
    END IF;
    SET l_count = (l_count + 1) DIV 2;
    OPEN by_name;
    WHILE l_count > 0 DO
        FETCH by_name INTO l_id;
        SET l_count = l_count - 1;
    END WHILE;
    CLOSE by_name;
    RETURN l_id;
END
//
CREATE PROCEDURE payment_tx(p_w INT, p_d INT, p_c_w INT, p_c_d INT, p_c INT, p_last VARCHAR(16), p_amount DECIMAL(6,2),
    p_now BIGINT)
BEGIN
    DECLARE l_w_name, l_d_name VARCHAR(10);
    DECLARE l_credit CHAR(2);
    DECLARE l_balance DECIMAL(12,2);
    DECLARE l_data VARCHAR(500);
    UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w;
    SELECT w_name INTO l_w_name FROM warehouse WHERE w_id = p_w;
    UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d;
    SELECT d_name INTO l_d_name FROM district WHERE d_w_id = p_w AND d_id = p_d;
    IF p_c IS NULL THEN
        SET p_c = customer_by_name(p_c_w, p_c_d, p_last);
    END IF;
    SELECT c_credit, c_balance - p_amount, c_data INTO l_credit, l_balance, l_data
        FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c FOR UPDATE;
    IF l_credit = 'BC' THEN
        SET l_data = substring(concat(p_c, ' ', p_c_d, ' ', p_c_w, ' ', p_d, ' ', p_w, ' | ', l_data), 1, 500);
        UPDATE customer SET c_balance = l_balance, c_ytd_payment = c_ytd_payment + p_amount,
            c_payment_cnt = c_payment_cnt + 1, c_data = l_data WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c;
    ELSE
        UPDATE customer SET c_balance = l_balance, c_ytd_payment = c_ytd_payment + p_amount,
            c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c;
    END IF;
    INSERT INTO history VALUES (p_c, p_c_d, p_c_w, p_d, p_w, p_now, p_amount, concat(l_w_name, '    ', l_d_name));
    SELECT p_c, l_balance;
END
//
CREATE PROCEDURE order_status_tx(p_w INT, p_d INT, p_c INT, p_last VARCHAR(16))
BEGIN
    DECLARE l_order INT;
    IF p_c IS NULL THEN
        SET p_c = customer_by_name(p_w, p_d, p_last);
    END IF;
    SELECT c_balance, c_first, c_last FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
    SELECT o_id INTO l_order FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = p_c ORDER BY o_id DESC LIMIT 1;
    SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = l_order ORDER BY ol_number;
END
//
CREATE PROCEDURE delivery_tx(p_w INT, p_carrier INT, p_now BIGINT)
BEGIN
    DECLARE done INT DEFAULT 0;
    DECLARE d INT;
    DECLARE l_delivered INT DEFAULT 0;
    DECLARE l_order, l_c INT;
    DECLARE l_sum DECIMAL(12,2);
    DECLARE in_warehouse CURSOR FOR SELECT d_id FROM district WHERE d_w_id = p_w ORDER BY d_id;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1;
    OPEN in_warehouse;
    districts: LOOP
        SET done = 0;
        FETCH in_warehouse INTO d;
        IF done THEN
            LEAVE districts;
        END IF;
        SET l_order = NULL;
        SELECT no_o_id INTO l_order FROM new_order WHERE no_w_id = p_w AND no_d_id = d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF l_order IS NULL THEN
            ITERATE districts;
        END IF;
        DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = d AND no_o_id = l_order;
        SELECT o_c_id INTO l_c FROM orders WHERE o_w_id = p_w AND o_d_id = d AND o_id = l_order;
        UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = d AND o_id = l_order;
        UPDATE order_line SET ol_delivery_d = p_now WHERE ol_w_id = p_w AND ol_d_id = d AND ol_o_id = l_order;
        SELECT sum(ol_amount) INTO l_sum FROM order_line WHERE ol_w_id = p_w AND ol_d_id = d AND ol_o_id = l_order;
        UPDATE customer SET c_balance = c_balance + l_sum, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = p_w AND c_d_id = d AND c_id = l_c;
        SET l_delivered = l_delivered + 1;
    END LOOP districts;
    CLOSE in_warehouse;
    SELECT l_delivered;
END
//
CREATE PROCEDURE stock_level_tx(p_w INT, p_d INT, p_threshold INT)
BEGIN
    DECLARE l_next INT;
    SELECT d_next_o_id INTO l_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
    SELECT count(DISTINCT s_i_id) FROM order_line, stock
        WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id < l_next AND ol_o_id >= l_next - 20
        AND s_w_id = p_w AND s_i_id = ol_i_id AND s_quantity < p_threshold;
END
