-- SmallBank's six transactions. A customer that does not exist, or too little money, ends a transaction without a write.
CREATE FUNCTION customer(p_name text) RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT custid FROM accounts WHERE name = p_name);
END $$;

CREATE FUNCTION balance(p_name text) RETURNS TABLE (total numeric) LANGUAGE plpgsql AS $$
DECLARE
    l_id int := customer(p_name);
BEGIN
    RETURN QUERY SELECT s.bal + c.bal FROM savings s JOIN checking c ON c.custid = s.custid WHERE s.custid = l_id;
END $$;

CREATE PROCEDURE deposit_checking(p_name text, p_amount numeric) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE checking SET bal = bal + p_amount WHERE custid = customer(p_name);
END $$;

CREATE FUNCTION transact_savings(p_name text, p_amount numeric) RETURNS TABLE (done int) LANGUAGE plpgsql AS $$
DECLARE
    l_id int := customer(p_name);
    l_bal numeric;
BEGIN
    SELECT bal INTO l_bal FROM savings WHERE custid = l_id;
    done := 0;
    IF l_bal + p_amount >= 0 THEN
        UPDATE savings SET bal = bal + p_amount WHERE custid = l_id;
        done := 1;
    END IF;
    RETURN NEXT;
END $$;

CREATE PROCEDURE amalgamate(p_from text, p_to text) LANGUAGE plpgsql AS $$
DECLARE
    l_from int := customer(p_from);
    l_to int := customer(p_to);
    l_savings numeric;
    l_checking numeric;
BEGIN
    SELECT bal INTO l_savings FROM savings WHERE custid = l_from;
    SELECT bal INTO l_checking FROM checking WHERE custid = l_from;
    UPDATE savings SET bal = 0 WHERE custid = l_from;
    UPDATE checking SET bal = 0 WHERE custid = l_from;
    UPDATE checking SET bal = bal + l_savings + l_checking WHERE custid = l_to;
END $$;

CREATE FUNCTION send_payment(p_from text, p_to text, p_amount numeric) RETURNS TABLE (done int) LANGUAGE plpgsql AS $$
DECLARE
    l_from int := customer(p_from);
    l_to int := customer(p_to);
BEGIN
    done := 0;
    IF (SELECT bal FROM checking WHERE custid = l_from) >= p_amount THEN
        UPDATE checking SET bal = bal - p_amount WHERE custid = l_from;
        UPDATE checking SET bal = bal + p_amount WHERE custid = l_to;
        done := 1;
    END IF;
    RETURN NEXT;
END $$;

CREATE PROCEDURE write_check(p_name text, p_amount numeric) LANGUAGE plpgsql AS $$
DECLARE
    l_id int := customer(p_name);
    l_total numeric;
BEGIN
    SELECT s.bal + c.bal INTO l_total FROM savings s, checking c WHERE s.custid = l_id AND c.custid = l_id;
    IF l_total < p_amount THEN
        UPDATE checking SET bal = bal - p_amount - 1 WHERE custid = l_id;
    ELSE
        UPDATE checking SET bal = bal - p_amount WHERE custid = l_id;
    END IF;
END $$;
