-- SmallBank's six transactions. A customer that does not exist, or too little money, ends a transaction without a write.
CREATE FUNCTION customer(p_name VARCHAR(64)) RETURNS INT READS SQL DATA
BEGIN
    DECLARE l_id INT;
    SELECT custid INTO l_id FROM accounts WHERE name = p_name;
    RETURN l_id;
END
//
CREATE PROCEDURE balance(p_name VARCHAR(64))
BEGIN
    DECLARE l_id INT DEFAULT customer(p_name);
    SELECT s.bal + c.bal FROM savings s JOIN checking c ON c.custid = s.custid WHERE s.custid = l_id;
END
//
CREATE PROCEDURE deposit_checking(p_name VARCHAR(64), p_amount DECIMAL(12,2))
BEGIN
    DECLARE l_id INT DEFAULT customer(p_name);
    UPDATE checking SET bal = bal + p_amount WHERE custid = l_id;
END
//
CREATE PROCEDURE transact_savings(p_name VARCHAR(64), p_amount DECIMAL(12,2))
BEGIN
    DECLARE l_id INT DEFAULT customer(p_name);
    DECLARE l_bal DECIMAL(12,2);
    DECLARE l_done INT DEFAULT 0;
    SELECT bal INTO l_bal FROM savings WHERE custid = l_id FOR UPDATE;
    IF l_bal + p_amount >= 0 THEN
        UPDATE savings SET bal = bal + p_amount WHERE custid = l_id;
        SET l_done = 1;
    END IF;
    SELECT l_done;
END
//
CREATE PROCEDURE amalgamate(p_from VARCHAR(64), p_to VARCHAR(64))
BEGIN
    DECLARE l_from INT DEFAULT customer(p_from);
    DECLARE l_to INT DEFAULT customer(p_to);
    DECLARE l_savings, l_checking DECIMAL(12,2);
    SELECT bal INTO l_savings FROM savings WHERE custid = l_from FOR UPDATE;
    SELECT bal INTO l_checking FROM checking WHERE custid = l_from FOR UPDATE;
    UPDATE savings SET bal = 0 WHERE custid = l_from;
    UPDATE checking SET bal = 0 WHERE custid = l_from;
    UPDATE checking SET bal = bal + l_savings + l_checking WHERE custid = l_to;
END
//
CREATE PROCEDURE send_payment(p_from VARCHAR(64), p_to VARCHAR(64), p_amount DECIMAL(12,2))
BEGIN
    DECLARE l_from INT DEFAULT customer(p_from);
    DECLARE l_to INT DEFAULT customer(p_to);
    DECLARE l_bal DECIMAL(12,2);
    DECLARE l_done INT DEFAULT 0;
    SELECT bal INTO l_bal FROM checking WHERE custid = l_from FOR UPDATE;
    IF l_bal >= p_amount THEN
        UPDATE checking SET bal = bal - p_amount WHERE custid = l_from;
        UPDATE checking SET bal = bal + p_amount WHERE custid = l_to;
        SET l_done = 1;
    END IF;
    SELECT l_done;
END
//
CREATE PROCEDURE write_check(p_name VARCHAR(64), p_amount DECIMAL(12,2))
BEGIN
    DECLARE l_id INT DEFAULT customer(p_name);
    DECLARE l_total DECIMAL(12,2);
    SELECT s.bal + c.bal INTO l_total FROM savings s, checking c WHERE s.custid = l_id AND c.custid = l_id;
    IF l_total < p_amount THEN
        UPDATE checking SET bal = bal - p_amount - 1 WHERE custid = l_id;
    ELSE
        UPDATE checking SET bal = bal - p_amount WHERE custid = l_id;
    END IF;
END
