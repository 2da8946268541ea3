CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, info VARCHAR(80), follows INT NOT NULL);
CREATE TABLE tweets (id BIGINT PRIMARY KEY, author INT NOT NULL, data VARCHAR(120) NOT NULL);
CREATE INDEX tweets_of ON tweets (author, id);
CREATE TABLE last_tweets (author INT PRIMARY KEY, tweet BIGINT NOT NULL);
CREATE TABLE following (follower INT, followee INT, since BIGINT NOT NULL, active INT NOT NULL, PRIMARY KEY (follower, followee));
CREATE TABLE followers (followee INT, follower INT, since BIGINT NOT NULL, active INT NOT NULL, PRIMARY KEY (followee, follower));
