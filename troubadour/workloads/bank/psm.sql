CREATE PROCEDURE balance_check(p_id INT)
BEGIN
    SELECT balance FROM accounts WHERE id = p_id;
END
//
CREATE PROCEDURE both_balances(p_a INT, p_b INT)
BEGIN
    SELECT id, balance FROM accounts WHERE id IN (p_a, p_b) ORDER BY id;
END
//
CREATE PROCEDURE deposit(p_id INT, p_amount DECIMAL(12,2), p_show INT)
BEGIN
    UPDATE accounts SET balance = balance + p_amount WHERE id = p_id;
    IF p_show = 1 THEN
        SELECT balance FROM accounts WHERE id = p_id;
    END IF;
END
//
CREATE PROCEDURE withdraw(p_id INT, p_amount DECIMAL(12,2), p_show INT)
BEGIN
    UPDATE accounts SET balance = balance - p_amount WHERE id = p_id AND balance >= p_amount;
    IF p_show = 1 THEN
        SELECT balance FROM accounts WHERE id = p_id;
    END IF;
END
//
CREATE PROCEDURE withdraw_overdraft(p_id INT, p_amount DECIMAL(12,2), p_fee DECIMAL(12,2), p_limit DECIMAL(12,2), p_show INT)
BEGIN
    DECLARE l_balance DECIMAL(12,2);
    SELECT balance INTO l_balance FROM accounts WHERE id = p_id FOR UPDATE;
    IF l_balance >= p_amount THEN
        UPDATE accounts SET balance = l_balance - p_amount WHERE id = p_id;
    ELSEIF l_balance - p_amount >= - p_limit THEN
        UPDATE accounts SET balance = l_balance - p_amount - p_fee WHERE id = p_id;
    END IF;
    IF p_show = 1 THEN
        SELECT balance FROM accounts WHERE id = p_id;
    END IF;
END
//
CREATE PROCEDURE transfer(p_source INT, p_target INT, p_amount DECIMAL(12,2), p_show INT)
BEGIN
    DECLARE l_balance DECIMAL(12,2);
    SELECT balance INTO l_balance FROM accounts WHERE id = p_source FOR UPDATE;
    IF l_balance >= p_amount THEN
        UPDATE accounts SET balance = balance - p_amount WHERE id = p_source;
        UPDATE accounts SET balance = balance + p_amount WHERE id = p_target;
    END IF;
    IF p_show = 1 THEN
        SELECT balance FROM accounts WHERE id = p_source;
    END IF;
END
