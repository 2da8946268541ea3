CREATE PROCEDURE new_tweet(p_user INT, p_id BIGINT, p_data VARCHAR(120))
BEGIN
    INSERT INTO tweets (id, author, data) VALUES (p_id, p_user, p_data);
    UPDATE last_tweets SET tweet = p_id WHERE author = p_user;
END
//
-- Follow, or follow no more: both directions are kept, and the number of those followed where it changes.
CREATE PROCEDURE follow(p_src INT, p_dst INT, p_active INT, p_since BIGINT)
BEGIN
    DECLARE l_before INT DEFAULT 0;
    SELECT active INTO l_before FROM following WHERE follower = p_src AND followee = p_dst FOR UPDATE;
    INSERT INTO following (follower, followee, since, active) VALUES (p_src, p_dst, p_since, p_active)
        ON DUPLICATE KEY UPDATE since = p_since, active = p_active;
    INSERT INTO followers (followee, follower, since, active) VALUES (p_dst, p_src, p_since, p_active)
        ON DUPLICATE KEY UPDATE since = p_since, active = p_active;
    IF l_before <> p_active THEN
        UPDATE users SET follows = follows + p_active - l_before WHERE id = p_src;
    END IF;
END
//
CREATE PROCEDURE show_follow(p_user INT)
BEGIN
    SELECT f.followee, u.name, f.since FROM following f JOIN users u ON u.id = f.followee
        WHERE f.follower = p_user AND f.active = 1 ORDER BY f.followee LIMIT 20;
END
//
-- The last tweet of each of the first twenty who are followed.
CREATE PROCEDURE timeline(p_user INT)
BEGIN
    SELECT t.author, t.id, t.data FROM following f JOIN last_tweets l ON l.author = f.followee JOIN tweets t ON t.id = l.tweet
        WHERE f.follower = p_user AND f.active = 1 ORDER BY f.followee LIMIT 20;
END
//
CREATE PROCEDURE show_tweets(p_user INT)
BEGIN
    SELECT id, data FROM tweets WHERE author = p_user ORDER BY id DESC LIMIT 10;
END
