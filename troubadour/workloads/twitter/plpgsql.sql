CREATE PROCEDURE new_tweet(p_user int, p_id bigint, p_data text) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tweets (id, author, data) VALUES (p_id, p_user, p_data);
    UPDATE last_tweets SET tweet = p_id WHERE author = p_user;
END $$;

-- Follow, or follow no more: both directions are kept, and the number of those followed where it changes.
CREATE PROCEDURE follow(p_src int, p_dst int, p_active int, p_since bigint) LANGUAGE plpgsql AS $$
DECLARE
    l_before int;
BEGIN
    SELECT active INTO l_before FROM following WHERE follower = p_src AND followee = p_dst;
    IF NOT FOUND THEN
        l_before := 0;
    END IF;
    INSERT INTO following (follower, followee, since, active) VALUES (p_src, p_dst, p_since, p_active)
        ON CONFLICT (follower, followee) DO UPDATE SET since = excluded.since, active = excluded.active;
    INSERT INTO followers (followee, follower, since, active) VALUES (p_dst, p_src, p_since, p_active)
        ON CONFLICT (followee, follower) DO UPDATE SET since = excluded.since, active = excluded.active;
    IF l_before <> p_active THEN
        UPDATE users SET follows = follows + p_active - l_before WHERE id = p_src;
    END IF;
END $$;

CREATE FUNCTION show_follow(p_user int) RETURNS TABLE (id int, name text, since bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT f.followee, u.name::text, f.since FROM following f JOIN users u ON u.id = f.followee
        WHERE f.follower = p_user AND f.active = 1 ORDER BY f.followee LIMIT 20;
END $$;

-- The last tweet of each of the first twenty who are followed.
CREATE FUNCTION timeline(p_user int) RETURNS TABLE (author int, id bigint, data text) LANGUAGE plpgsql AS $$
DECLARE
    r RECORD;
BEGIN
    FOR r IN SELECT f.followee FROM following f WHERE f.follower = p_user AND f.active = 1 ORDER BY f.followee LIMIT 20 LOOP
        SELECT t.author, t.id, t.data INTO author, id, data
            FROM last_tweets l JOIN tweets t ON t.id = l.tweet WHERE l.author = r.followee;
        IF FOUND THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

CREATE FUNCTION show_tweets(p_user int) RETURNS TABLE (id bigint, data text) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT t.id, t.data::text FROM tweets t WHERE t.author = p_user ORDER BY t.id DESC LIMIT 10;
END $$;
