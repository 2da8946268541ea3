CREATE TABLE accounts (acc_id INT PRIMARY KEY, balance NUMERIC(12,2) NOT NULL)

CREATE PROCEDURE Deposit (IN tgt INT, IN amt DECIMAL(12,2))
BEGIN
  UPDATE accounts SET balance = balance + @amt WHERE acc_id = @tgt;
END;

CREATE PROCEDURE Transfer (IN src INT, IN tgt INT, IN amt DECIMAL(12,2))
BEGIN
  CALL Deposit(@tgt, @amt);
  UPDATE accounts SET balance = balance - @amt WHERE acc_id = @src;
END;
