CREATE TABLE regions (id INT PRIMARY KEY, name VARCHAR(25) NOT NULL UNIQUE);
CREATE TABLE users (id INT PRIMARY KEY, first_name VARCHAR(20), last_name VARCHAR(20), nickname VARCHAR(20) NOT NULL UNIQUE,
    password VARCHAR(20), email VARCHAR(50), balance DECIMAL(18,4) NOT NULL, created BIGINT NOT NULL, region INT NOT NULL);
CREATE TABLE ratings (user_id INT PRIMARY KEY, rating INT NOT NULL);
CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(100), description VARCHAR(200), initial_price DECIMAL(10,2) NOT NULL,
    quantity INT NOT NULL, reserve_price DECIMAL(10,2), buy_now DECIMAL(10,2), nb_of_bids INT NOT NULL,
    max_bid DECIMAL(10,2), seller INT NOT NULL, category INT NOT NULL);
CREATE INDEX items_of_category ON items (category, id);
CREATE TABLE comments (id INT PRIMARY KEY, from_user INT NOT NULL, to_user INT NOT NULL, item INT NOT NULL, rating INT NOT NULL,
    comment VARCHAR(200));
CREATE TABLE buy_now (id INT PRIMARY KEY, buyer INT NOT NULL, item INT NOT NULL, qty INT NOT NULL);
