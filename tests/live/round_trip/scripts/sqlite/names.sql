
## capitals and camel case
CREATE TABLE Users (UserId INTEGER PRIMARY KEY, FirstName TEXT NOT NULL, lastLogin TEXT, IsAdmin BOOLEAN DEFAULT 0)
;;
CREATE UNIQUE INDEX IX_Users_FirstName ON Users (FirstName)
;;
INSERT INTO Users VALUES (1, 'Ann', '2024-01-02', 1), (2, 'Bob', NULL, 0)
== recorded
SELECT UserId, firstname, LASTLOGIN FROM USERS WHERE userid = 1
;;
-- params [3, "Cy"]
INSERT INTO users (USERID, FIRSTNAME) VALUES (?, ?)
;;
UPDATE Users SET ISADMIN = 1 WHERE "UserId" = 2
;;
SELECT u.UserId, U.IsAdmin FROM Users u ORDER BY u.userid
;;
-- fails
INSERT INTO Users (FirstName) VALUES ('Ann')
;;
DELETE FROM USERS WHERE FirstName = 'Bob' RETURNING UserId
;;
SELECT count(*) FROM Users
## blanks, reserved words, quotes of all kinds
CREATE TABLE "order details" ([Order Id] INTEGER PRIMARY KEY, "select" INT, `from` TEXT, "a ""quoted"" name" TEXT)
;;
CREATE INDEX "an index" ON "order details" ("select")
;;
INSERT INTO "order details" VALUES (1, 2, 'x', 'y')
== recorded
SELECT [Order Id], "select", `from`, "a ""quoted"" name" FROM "order details"
;;
UPDATE [order details] SET "select" = "select" + 1, [from] = 'z' WHERE [Order Id] = 1
;;
INSERT INTO `order details` ("Order Id", "select") VALUES (2, 5)
;;
SELECT d."select" AS "sum of" FROM "order details" AS d WHERE d."from" IS NULL
;;
DELETE FROM "Order Details" WHERE "SELECT" = 3
;;
SELECT * FROM "order details"
## letters that are not ASCII
CREATE TABLE "Bücher" ("Straße" TEXT PRIMARY KEY, "Ä" INT, "ä" INT, 数 INT)
;;
INSERT INTO "Bücher" VALUES ('a', 1, 2, 3)
== recorded
SELECT "Ä", "ä", 数, STRAßE FROM Bücher
;;
UPDATE bücher SET "ä" = 7 WHERE "straße" = 'a'
;;
-- fails
SELECT * FROM BÜCHER
;;
SELECT b.Ä, b.ä FROM Bücher b
## references, views and triggers over names with capitals
CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name TEXT)
;;
CREATE TABLE Album (AlbumId INTEGER PRIMARY KEY, Title TEXT, ArtistId INT REFERENCES artist (ARTISTID))
;;
CREATE VIEW AlbumsOf AS SELECT Artist.Name AS ArtistName, count(*) AS Albums FROM Album JOIN Artist USING (ArtistId) GROUP BY artist.name
;;
CREATE TABLE Log (Id INTEGER PRIMARY KEY, Text TEXT)
;;
CREATE TRIGGER AlbumAdded AFTER INSERT ON Album BEGIN INSERT INTO Log (Text) VALUES (NEW.Title); END
;;
INSERT INTO Artist VALUES (1, 'A')
;;
INSERT INTO Album VALUES (1, 'one', 1)
== recorded
SELECT artistname, ALBUMS FROM albumsof
;;
INSERT INTO album (title, artistid) VALUES ('two', 1)
;;
SELECT AlbumId, Title FROM Album ORDER BY 1
;;
SELECT a.Title, r.Name FROM Album a JOIN Artist r ON r.ArtistId = a.ArtistId WHERE r.NAME = 'A' ORDER BY a.albumid
