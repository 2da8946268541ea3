
## capitals, camel case and letters that are not ASCII
CREATE TABLE `T2` (`ID` int NOT NULL PRIMARY KEY, `camelCase` int, `É` int, `数` text)
;;
CREATE TABLE `t2` (`id` int NOT NULL PRIMARY KEY, other int)
;;
INSERT INTO T2 VALUES (1, 2, 3, 'x')
;;
INSERT INTO t2 VALUES (7, 8)
== recorded
SELECT id, CAMELCASE, é, 数 FROM T2
;;
SELECT ID, OTHER FROM t2
;;
UPDATE T2 SET CamelCase = 5, é = 4 WHERE Id = 1
;;
SELECT a.camelcase, b.id FROM T2 a JOIN t2 b
;;
INSERT INTO T2 (id, `camelcase`) VALUES (2, 9)
;;
-- fails
SELECT A.id FROM T2 a
;;
SELECT camelCase AS Sum FROM T2 ORDER BY sum
## blanks, quotes, reserved words
CREATE TABLE `order details` (`Order Id` int PRIMARY KEY, `select` int, `a ``quoted`` name` text, `from` varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
;;
CREATE UNIQUE INDEX `an index` ON `order details` (`select`)
;;
INSERT INTO `order details` VALUES (1, 2, 'x', 'y')
== recorded
SELECT `Order Id`, `select`, `a ``quoted`` name`, `from` FROM `order details`
;;
UPDATE `order details` SET `select` = `select` + 1, `from` = 'z' WHERE `ORDER ID` = 1
;;
-- params [2, 5]
INSERT INTO `order details` (`Order Id`, `select`) VALUES (%s, %s)
;;
SELECT d.`select` AS `sum of` FROM `order details` AS d WHERE d.`from` IS NULL
;;
-- fails
INSERT INTO `order details` (`Order Id`, `select`) VALUES (3, 5)
;;
DELETE FROM `order details` WHERE `SELECT` = 3
;;
SELECT * FROM `order details`
## references, views, triggers and routines with capitals
CREATE TABLE Artist (ArtistId INT PRIMARY KEY, Name VARCHAR(50))
;;
CREATE TABLE Album (AlbumId INT PRIMARY KEY AUTO_INCREMENT, Title VARCHAR(50), ArtistId INT, CONSTRAINT FK_Album FOREIGN KEY (ARTISTID) REFERENCES Artist (ARTISTID))
;;
CREATE VIEW AlbumsOf AS SELECT Artist.Name AS ArtistName, count(0) AS Albums FROM Album JOIN Artist ON Artist.ArtistId = Album.ArtistId GROUP BY Artist.Name
;;
CREATE PROCEDURE AddAlbum (IN pTitle VARCHAR(50), IN pArtist INT) BEGIN INSERT INTO Album (Title, ArtistId) VALUES (PTITLE, pARTIST); END
;;
CREATE FUNCTION CountOf (aId INT) RETURNS INT READS SQL DATA BEGIN DECLARE Found INT; SELECT count(*) INTO found FROM Album WHERE ArtistId = AID; RETURN FOUND; END
;;
INSERT INTO Artist VALUES (1, 'A')
;;
INSERT INTO Album (Title, ArtistId) VALUES ('one', 1)
== recorded
SELECT ARTISTNAME, albums FROM AlbumsOf
;;
CALL addalbum('two', 1)
;;
SELECT countof(1)
;;
-- fails
INSERT INTO Album (Title, ArtistId) VALUES ('three', 9)
;;
SELECT title FROM Album ORDER BY albumid
