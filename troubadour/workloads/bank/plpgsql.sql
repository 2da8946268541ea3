CREATE FUNCTION balance_check(p_id int) RETURNS TABLE (balance numeric) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT a.balance FROM accounts a WHERE a.id = p_id;
END $$;

CREATE FUNCTION both_balances(p_a int, p_b int) RETURNS TABLE (id int, balance numeric) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT a.id, a.balance FROM accounts a WHERE a.id IN (p_a, p_b) ORDER BY a.id;
END $$;

CREATE PROCEDURE deposit(p_id int, p_amount numeric, p_show int, INOUT p_balance numeric) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE accounts SET balance = balance + p_amount WHERE id = p_id;
    IF p_show = 1 THEN
        SELECT balance INTO p_balance FROM accounts WHERE id = p_id;
    END IF;
END $$;

CREATE PROCEDURE withdraw(p_id int, p_amount numeric, p_show int, INOUT p_balance numeric) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE accounts SET balance = balance - p_amount WHERE id = p_id AND balance >= p_amount;
    IF p_show = 1 THEN
        SELECT balance INTO p_balance FROM accounts WHERE id = p_id;
    END IF;
END $$;

CREATE PROCEDURE withdraw_overdraft(p_id int, p_amount numeric, p_fee numeric, p_limit numeric, p_show int,
    INOUT p_balance numeric)
LANGUAGE plpgsql AS $$
DECLARE
    l_balance numeric;
BEGIN
    SELECT balance INTO l_balance FROM accounts WHERE id = p_id FOR UPDATE;
    IF l_balance >= p_amount THEN
        UPDATE accounts SET balance = l_balance - p_amount WHERE id = p_id;
    ELSIF l_balance - p_amount >= - p_limit THEN
        UPDATE accounts SET balance = l_balance - p_amount - p_fee WHERE id = p_id;
    END IF;
    IF p_show = 1 THEN
        SELECT balance INTO p_balance FROM accounts WHERE id = p_id;
    END IF;
END $$;

CREATE PROCEDURE transfer(p_source int, p_target int, p_amount numeric, p_show int, INOUT p_balance numeric)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE accounts SET balance = balance - p_amount WHERE id = p_source AND balance >= p_amount;
    IF FOUND THEN
        UPDATE accounts SET balance = balance + p_amount WHERE id = p_target;
    END IF;
    IF p_show = 1 THEN
        SELECT balance INTO p_balance FROM accounts WHERE id = p_source;
    END IF;
END $$;
