-- TPC-C's five transactions in PL/pgSQL, after clauses 2.4 to 2.8 of the specification. A new order's lines are a text of
-- twelve digits for each: item 6, supplying warehouse 4, quantity 2. Clocks are given by the caller.
CREATE PROCEDURE new_order_tx(p_w int, p_d int, p_c int, p_lines text, p_now bigint, INOUT p_order int, INOUT p_total numeric)
LANGUAGE plpgsql AS $$
DECLARE
    l_item int;
    l_supply int;
    l_quantity int;
    l_discount customer.c_discount%TYPE;
    l_w_tax warehouse.w_tax%TYPE;
    l_d_tax district.d_tax%TYPE;
    l_price item.i_price%TYPE;
    l_stock stock%ROWTYPE;
    l_dist text;
    l_amount numeric(6,2);
    l_count int := length(p_lines) / 12;
    l_local int := 1;
BEGIN
    SELECT c_discount, w_tax INTO STRICT l_discount, l_w_tax
        FROM warehouse, customer WHERE w_id = p_w AND c_w_id = w_id AND c_d_id = p_d AND c_id = p_c;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d
        RETURNING d_next_o_id - 1, d_tax INTO p_order, l_d_tax;
    FOR n IN 1..l_count LOOP
        IF substring(p_lines, 12 * n - 5, 4)::int <> p_w THEN
            l_local := 0;
        END IF;
    END LOOP;
    INSERT INTO orders VALUES (p_w, p_d, p_order, p_c, p_now, NULL, l_count, l_local);
    INSERT INTO new_order VALUES (p_w, p_d, p_order);
    p_total := 0;
    FOR n IN 1..l_count LOOP
        l_item := substring(p_lines, 12 * n - 11, 6)::int;
        l_supply := substring(p_lines, 12 * n - 5, 4)::int;
        l_quantity := substring(p_lines, 12 * n - 1, 2)::int;
        SELECT i_price INTO l_price FROM item WHERE i_id = l_item;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'item % not found', l_item USING ERRCODE = 'no_data_found';
        END IF;
        SELECT * INTO l_stock FROM stock WHERE s_w_id = l_supply AND s_i_id = l_item FOR UPDATE;
        CASE p_d
            WHEN 1 THEN l_dist := l_stock.s_dist_01;
            WHEN 2 THEN l_dist := l_stock.s_dist_02;
            WHEN 3 THEN l_dist := l_stock.s_dist_03;
            WHEN 4 THEN l_dist := l_stock.s_dist_04;
            WHEN 5 THEN l_dist := l_stock.s_dist_05;
            WHEN 6 THEN l_dist := l_stock.s_dist_06;
            WHEN 7 THEN l_dist := l_stock.s_dist_07;
            WHEN 8 THEN l_dist := l_stock.s_dist_08;
            WHEN 9 THEN l_dist := l_stock.s_dist_09;
            WHEN 10 THEN l_dist := l_stock.s_dist_10;
        END CASE;
        IF l_stock.s_quantity >= l_quantity + 10 THEN
            l_stock.s_quantity := l_stock.s_quantity - l_quantity;
        ELSE
            l_stock.s_quantity := l_stock.s_quantity - l_quantity + 91;
        END IF;
        UPDATE stock SET s_quantity = l_stock.s_quantity, s_ytd = s_ytd + l_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN l_supply <> p_w THEN 1 ELSE 0 END
            WHERE s_w_id = l_supply AND s_i_id = l_item;
        l_amount := l_quantity * l_price;
        INSERT INTO order_line VALUES (p_w, p_d, p_order, n, l_item, l_supply, NULL,
            l_quantity, l_amount, l_dist);
        p_total := p_total + l_amount;
    END LOOP;
    p_total := round(p_total * (1 - l_discount) * (1 + l_w_tax + l_d_tax), 2);
END $$;

CREATE FUNCTION customer_by_name(p_w int, p_d int, p_last text) RETURNS int LANGUAGE plpgsql STABLE AS $$
DECLARE
    by_name CURSOR FOR SELECT c_id FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
        ORDER BY c_first, c_id;
    l_count int;
    l_id int;
BEGIN
    SELECT count(*) INTO l_count FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
    IF l_count = 0 THEN
        RAISE EXCEPTION 'no customer named %', p_last USING ERRCODE = 'P0002';
    END IF;
    OPEN by_name;
    FOR i IN 1..(l_count + 1) / 2 LOOP
        FETCH by_name INTO l_id;
    END LOOP;
    CLOSE by_name;
    RETURN l_id;
END $$;

CREATE PROCEDURE payment_tx(p_w int, p_d int, p_c_w int, p_c_d int, INOUT p_c int, p_last text, p_amount numeric, p_now bigint,
    INOUT p_balance numeric)
LANGUAGE plpgsql AS $$
DECLARE
    l_w_name text;
    l_d_name text;
    c customer%ROWTYPE;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w RETURNING w_name INTO l_w_name;
    UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d RETURNING d_name INTO l_d_name;
    IF p_c IS NULL THEN
        p_c := customer_by_name(p_c_w, p_c_d, p_last);
    END IF;
    SELECT * INTO STRICT c FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c FOR UPDATE;
    p_balance := c.c_balance - p_amount;
    IF c.c_credit = 'BC' THEN
        c.c_data := substring(p_c || ' ' || p_c_d || ' ' || p_c_w || ' ' || p_d || ' ' || p_w || ' | ' || c.c_data, 1, 500);
        UPDATE customer SET c_balance = p_balance, c_ytd_payment = c_ytd_payment + p_amount,
            c_payment_cnt = c_payment_cnt + 1, c_data = c.c_data WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c;
    ELSE
        UPDATE customer SET c_balance = p_balance, c_ytd_payment = c_ytd_payment + p_amount,
            c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c;
    END IF;
    INSERT INTO history VALUES (p_c, p_c_d, p_c_w, p_d, p_w, p_now, p_amount, l_w_name || '    ' || l_d_name);
END $$;

CREATE FUNCTION order_status_tx(p_w int, p_d int, p_c int, p_last text)
RETURNS TABLE (item int, supply int, quantity int, amount numeric, delivered bigint) LANGUAGE plpgsql AS $$
DECLARE
    l_c int := p_c;
    l_order int;
    line order_line%ROWTYPE;
BEGIN
    IF l_c IS NULL THEN
        l_c := customer_by_name(p_w, p_d, p_last);
    END IF;
    SELECT o_id INTO l_order FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = l_c ORDER BY o_id DESC LIMIT 1;
    FOR line IN SELECT * FROM order_line WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = l_order ORDER BY ol_number LOOP
        item := line.ol_i_id;
        supply := line.ol_supply_w_id;
        quantity := line.ol_quantity;
        amount := line.ol_amount;
        delivered := line.ol_delivery_d;
        RETURN NEXT;
    END LOOP;
END $$;

CREATE PROCEDURE delivery_tx(p_w int, p_carrier int, p_now bigint, INOUT p_delivered int) LANGUAGE plpgsql AS $$
DECLARE
    d RECORD;
    l_order int;
    l_c int;
    l_sum numeric;
BEGIN
    p_delivered := 0;
    FOR d IN SELECT d_id FROM district WHERE d_w_id = p_w ORDER BY d_id LOOP
        SELECT no_o_id INTO l_order FROM new_order WHERE no_w_id = p_w AND no_d_id = d.d_id ORDER BY no_o_id LIMIT 1;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = d.d_id AND no_o_id = l_order;
        UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = d.d_id AND o_id = l_order RETURNING o_c_id INTO l_c;
        UPDATE order_line SET ol_delivery_d = p_now WHERE ol_w_id = p_w AND ol_d_id = d.d_id AND ol_o_id = l_order;
        SELECT sum(ol_amount) INTO l_sum FROM order_line WHERE ol_w_id = p_w AND ol_d_id = d.d_id AND ol_o_id = l_order;
        UPDATE customer SET c_balance = c_balance + l_sum, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = p_w AND c_d_id = d.d_id AND c_id = l_c;
        p_delivered := p_delivered + 1;
    END LOOP;
END $$;

CREATE FUNCTION stock_level_tx(p_w int, p_d int, p_threshold int) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    l_next int;
BEGIN
    SELECT d_next_o_id INTO l_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
    RETURN (SELECT count(DISTINCT s_i_id) FROM order_line, stock
        WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id < l_next AND ol_o_id >= l_next - 20
        AND s_w_id = p_w AND s_i_id = ol_i_id AND s_quantity < p_threshold);
END $$;
