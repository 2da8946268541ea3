
## capitals, blanks, reserved words
CREATE TABLE "Order Details" ("OrderId" INTEGER PRIMARY KEY, "select" INTEGER, "a ""quoted"" name" VARCHAR, camelCase DOUBLE)
;;
CREATE UNIQUE INDEX "An Index" ON "Order Details" ("select")
;;
INSERT INTO "Order Details" VALUES (1, 2, 'x', 1.5)
== recorded
SELECT orderid, "SELECT", "a ""quoted"" name", CAMELCASE FROM "order details"
;;
UPDATE "ORDER DETAILS" SET "Select" = 7 WHERE "orderID" = 1
;;
-- params [2, 3]
INSERT INTO "Order Details" (ORDERID, "select") VALUES (?, ?)
;;
SELECT d."select" AS "sum of" FROM "Order Details" d ORDER BY D.OrderId
;;
-- fails
INSERT INTO "Order Details" ("OrderId") VALUES (1)
;;
DELETE FROM "Order Details" WHERE "OrderId" = 2 RETURNING "select"
## letters that are not ASCII
CREATE TABLE "Bücher" ("Straße" VARCHAR PRIMARY KEY, "Ä" INTEGER, "ä" INTEGER, 数 INTEGER)
;;
INSERT INTO "Bücher" VALUES ('a', 1, 2, 3)
== recorded
SELECT "Ä", "ä", 数, STRAßE FROM Bücher
;;
UPDATE bücher SET "ä" = 7 WHERE "straße" = 'a'
;;
SELECT b.Ä, b.ä FROM Bücher b
;;
-- fails
SELECT * FROM BÜCHER
## references, views, sequences with capitals
CREATE SEQUENCE "IdSeq" START 10
;;
CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name VARCHAR)
;;
CREATE TABLE Album (AlbumId INTEGER DEFAULT nextval('IdSeq') PRIMARY KEY, Title VARCHAR, ArtistId INTEGER REFERENCES artist (ARTISTID))
;;
CREATE VIEW AlbumsOf AS SELECT Name AS ArtistName, count(*) AS Albums FROM Album JOIN Artist USING (ArtistId) GROUP BY Name
;;
INSERT INTO Artist VALUES (1, 'A')
;;
INSERT INTO Album (Title, ArtistId) VALUES ('one', 1)
== recorded
SELECT artistname, ALBUMS FROM albumsof
;;
INSERT INTO album (title, artistid) VALUES ('two', 1)
;;
-- fails
INSERT INTO album (title, artistid) VALUES ('three', 9)
;;
SELECT a.Title, r.Name FROM Album a JOIN Artist r ON r.ArtistId = a.ArtistId ORDER BY a.title
