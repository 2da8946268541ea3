CREATE FUNCTION kv_get(p_k int) RETURNS TABLE (value int) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT v FROM kv WHERE k = p_k;
END $$;

CREATE PROCEDURE kv_put(p_k int, p_v int) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE kv SET v = p_v WHERE k = p_k;
END $$;
