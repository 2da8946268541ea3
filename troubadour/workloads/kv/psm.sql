CREATE PROCEDURE kv_get(p_k INT)
BEGIN
    SELECT v FROM kv WHERE k = p_k;
END
//
CREATE PROCEDURE kv_put(p_k INT, p_v INT)
BEGIN
    UPDATE kv SET v = p_v WHERE k = p_k;
END
