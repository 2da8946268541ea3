
## a Chinook-like music store
CREATE TABLE [Artist] ([ArtistId] INTEGER NOT NULL, [Name] NVARCHAR(120), CONSTRAINT [PK_Artist] PRIMARY KEY ([ArtistId]))
;;
CREATE TABLE [Album] ([AlbumId] INTEGER NOT NULL, [Title] NVARCHAR(160) NOT NULL, [ArtistId] INTEGER NOT NULL, CONSTRAINT [PK_Album] PRIMARY KEY ([AlbumId]), FOREIGN KEY ([ArtistId]) REFERENCES [Artist] ([ArtistId]) ON DELETE NO ACTION ON UPDATE NO ACTION)
;;
CREATE TABLE [Track] ([TrackId] INTEGER NOT NULL, [Name] NVARCHAR(200) NOT NULL, [AlbumId] INTEGER, [Milliseconds] INTEGER NOT NULL, [Bytes] INTEGER, [UnitPrice] NUMERIC(10,2) NOT NULL, CONSTRAINT [PK_Track] PRIMARY KEY ([TrackId]))
;;
CREATE TABLE [Invoice] ([InvoiceId] INTEGER NOT NULL, [InvoiceDate] DATETIME NOT NULL, [BillingCity] NVARCHAR(40), [Total] NUMERIC(10,2) NOT NULL, CONSTRAINT [PK_Invoice] PRIMARY KEY ([InvoiceId]))
;;
CREATE INDEX [IFK_AlbumArtistId] ON [Album] ([ArtistId])
;;
INSERT INTO Artist VALUES (1, 'First'), (2, 'Second')
;;
INSERT INTO Album VALUES (1, 'Loud', 1), (2, 'Quiet', 2)
;;
INSERT INTO Track VALUES (1, 'a', 1, 1000, 5, 0.99), (2, 'b', 1, 2000, NULL, 1.99)
;;
INSERT INTO Invoice VALUES (1, '2009-01-01 00:00:00', 'Oslo', 1.98)
== recorded
SELECT ar.Name, al.Title, count(t.TrackId) AS Tracks FROM Artist ar JOIN Album al ON al.ArtistId = ar.ArtistId LEFT JOIN Track t ON t.AlbumId = al.AlbumId GROUP BY ar.Name, al.Title
;;
SELECT sum(UnitPrice), avg(Milliseconds) FROM Track WHERE AlbumId = 1
;;
-- params [2, "2009-02-03 00:00:00", "Bergen", 3]
INSERT INTO Invoice (InvoiceId, InvoiceDate, BillingCity, Total) VALUES (?, ?, ?, ?)
;;
SELECT InvoiceId, Total FROM Invoice WHERE InvoiceDate >= '2009-02-01 00:00:00'
;;
UPDATE Track SET UnitPrice = 1.29 WHERE TrackId = 1
;;
SELECT TrackId, UnitPrice FROM Track ORDER BY UnitPrice
## a Prisma-like blog
CREATE TABLE "User" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "email" TEXT NOT NULL, "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, "isActive" BOOLEAN NOT NULL DEFAULT true)
;;
CREATE TABLE "Post" ("id" TEXT NOT NULL PRIMARY KEY, "authorId" INTEGER NOT NULL, "title" TEXT NOT NULL, "meta" JSONB, "viewCount" INTEGER NOT NULL DEFAULT 0, CONSTRAINT "Post_authorId_fkey" FOREIGN KEY ("authorId") REFERENCES "User" ("id") ON DELETE RESTRICT ON UPDATE CASCADE)
;;
CREATE UNIQUE INDEX "User_email_key" ON "User"("email")
;;
CREATE TABLE "_CategoryToPost" ("A" INTEGER NOT NULL, "B" TEXT NOT NULL)
;;
CREATE UNIQUE INDEX "_CategoryToPost_AB_unique" ON "_CategoryToPost"("A", "B")
;;
INSERT INTO "User" ("email") VALUES ('a@x')
== recorded
-- params ["b@x", true]
INSERT INTO `main`.`User` (`email`, `isActive`) VALUES (?,?) RETURNING `id` AS `id`
;;
BEGIN IMMEDIATE
;;
-- params ["p1", 1, "Title", "{\"a\":[1,2]}"]
INSERT INTO "Post" ("id", "authorId", "title", "meta") VALUES (?, ?, ?, ?)
;;
UPDATE "Post" SET "viewCount" = "viewCount" + 1 WHERE "Post"."id" = 'p1'
;;
COMMIT
;;
SELECT "User"."id", "User"."email" FROM "User" LEFT JOIN "Post" AS "j1" ON "j1"."authorId" = "User"."id" WHERE "j1"."viewCount" = 1
;;
INSERT INTO "_CategoryToPost" VALUES (1, 'p1')
;;
SELECT "A", "B" FROM "_CategoryToPost"
;;
SELECT "id", "title", "meta" FROM "Post" LIMIT 1 OFFSET 0
